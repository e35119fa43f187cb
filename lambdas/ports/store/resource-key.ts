/** Converts a reference such as `Patient/1` to a store key. */
import type { ResourceKey } from './resource-store.ts'

export function toResourceKey(tenant: string, name: string): ResourceKey {
  const slash = name.indexOf('/')
  return { tenant, type: name.slice(0, slash), id: name.slice(slash + 1) }
}
