"""What calls cost: tokens, prices, budgets, and what each call was for."""
