"""Looking inside: the numbers behind each picture. Nothing here draws."""
