"""Models by provider. A module of this folder that defines CHATS or EMBEDDINGS adds a provider."""
