"""CmdStan: diagnostic files hold unconstrained draws and gradients.

Usage: python check_cmdstan.py 'diagnostic_*.csv', for the files of

    ./model sample num_chains=4 data file=... output diagnostic_file=diagnostic.csv sig_figs=18
"""

import sys

import polystein as ps

print(ps.check(ps.from_cmdstan(sys.argv[1]), rng=1))
