"""The numbered rules of durable steps: one test or more for each that is built."""
