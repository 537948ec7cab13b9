"""What papers published, repeated on public or made-up data, with the pages that show it."""
