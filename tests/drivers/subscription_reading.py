"""Reads a subscription to its end."""

from mcp.client.subscriptions import ServerEvent, Subscription, SubscriptionLost


async def lost(subscription: Subscription) -> tuple[list[ServerEvent], BaseException | None]:
    """What came before a subscription was lost, and why it was."""
    seen: list[ServerEvent] = []
    try:
        while True:
            seen.append(await anext(subscription))
    except SubscriptionLost as error:
        return seen, error.__cause__
