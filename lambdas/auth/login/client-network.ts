/**
 * Returns the network of an address, under which failed logins are counted. It is the address itself, but for IPv6 the /64 prefix: one
 * subscriber has all addresses of it. https://www.rfc-editor.org/rfc/rfc6177
 */
export function networkOf(address: string): string {
  const [plain] = address.split('%') as [string]
  if (!plain.includes(':') || plain.includes('.')) return address
  const [head = [], tail] = plain.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
