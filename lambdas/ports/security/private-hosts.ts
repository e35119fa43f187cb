/** Setting for hosts in private networks that the server may connect to. */
import { isIP } from 'node:net'

/** Parses host names and networks that are separated by commas. Returns undefined if an entry is neither. */
export function hostsOf(text: string): readonly string[] | undefined {
  const hosts = text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '')
  return hosts.every((each) => networkOf(each) !== undefined || isName(each)) ? hosts : undefined
}

type Network = { readonly address: string; readonly length: number }

/** Parses a network such as `10.0.0.0/8`. A single address is a network with one host. Returns undefined if the text is neither. */
export function networkOf(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const version = isIP(address)
  const longest = version === 4 ? 32 : 128
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || Number(length ?? 0) > longest) return undefined
  return { address, length: length === undefined ? longest : Number(length) }
}

/** Whether the text is a host name. A text whose last part is a number is not: resolvers take it for an IP address in another notation. */
const isName = (text: string): boolean => /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(text) && !/(?:^|\.)\d+$/.test(text) && text.length <= 253
