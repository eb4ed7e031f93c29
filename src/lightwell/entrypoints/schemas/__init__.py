"""What HTTP takes and gives where no operation is declared."""
