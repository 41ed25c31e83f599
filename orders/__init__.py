"""The example: an order is paid, shipped, cancelled and refunded."""
