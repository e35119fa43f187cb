/** The items of failed conditions: the document client leaves them as the service sends them. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb'

export const plainItem = (item: Readonly<Record<string, AttributeValue>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plainValue(value)]))

function plainValue(value: AttributeValue): unknown {
  if (value.M !== undefined) return plainItem(value.M)
  if (value.L !== undefined) return value.L.map(plainValue)
  if (value.N !== undefined) return Number(value.N)
  return value.S ?? value.B ?? value.BOOL ?? null
}
