"""Rules of Services, their endpoints, Ingresses and NetworkPolicies."""
