"""What a result looks like: text, HTML and plots. Nothing is computed here."""
