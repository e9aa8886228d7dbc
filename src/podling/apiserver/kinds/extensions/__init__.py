"""Rules of the kinds that extend the API: definitions, webhooks, admission policies, APIServices."""
