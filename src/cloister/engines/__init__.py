"""Where the rows live: engines that count a table where it is, and databases in which the protected one is made."""
