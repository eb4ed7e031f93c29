/** What becomes of a key, in words. */
import type { Schemas } from '../../../api';
import { dayOf, words } from '../../../words';

export function hasEnded(key: Schemas['ApiKey']): boolean {
  return key.revokedAt !== null || isExpired(key);
}

export function stateOf(key: Schemas['ApiKey']): string {
  if (key.revokedAt !== null) return words.apiKeys.revoked;
  if (isExpired(key)) return words.apiKeys.expired;
  const used = key.lastUsedAt ? words.apiKeys.used(dayOf(key.lastUsedAt)) : words.apiKeys.neverUsed;
  return key.expiresAt ? `${used}, ${words.apiKeys.until(dayOf(key.expiresAt))}` : used;
}

function isExpired({ expiresAt }: Schemas['ApiKey']): boolean {
  return expiresAt !== null && new Date(expiresAt) <= new Date();
}
