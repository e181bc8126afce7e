"""Against the real PyStan and CmdStan, in an environment of their own."""
