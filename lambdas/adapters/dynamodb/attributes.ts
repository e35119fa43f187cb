/**
 * Converts items from the wire format of DynamoDB to plain objects. The document client converts neither items of failed conditions nor
 * those of stream events.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb'

/** Attribute as a Lambda stream event carries it: JSON, with bytes in base64. */
export type EventValue = {
  readonly S?: string
  readonly N?: string
  readonly B?: string
  readonly BOOL?: boolean
  readonly M?: Readonly<Record<string, EventValue>>
  readonly L?: readonly EventValue[]
}

export const toPlainItem = (item: Readonly<Record<string, AttributeValue | EventValue>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plainValue(value)]))

function plainValue({ S, N, B, BOOL, M, L }: AttributeValue | EventValue): unknown {
  if (M !== undefined) return toPlainItem(M)
  if (L !== undefined) return L.map(plainValue)
  if (N !== undefined) return Number(N)
  if (typeof B === 'string') return Buffer.from(B, 'base64')
  return S ?? B ?? BOOL ?? null
}
