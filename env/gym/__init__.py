"""The Gymnasium environments, NdmTcp-v1 and its vector form, and the episode that both step through."""
