/** What may be written down as hosts behind our own walls that are asked all the same. */
import { isIP } from 'node:net'

/** Names and networks, separated by commas. undefined where one is neither. */
export function hostsOf(text: string): readonly string[] | undefined {
  const hosts = text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '')
  return hosts.every((each) => networkOf(each) !== undefined || isName(each)) ? hosts : undefined
}

type Network = { readonly address: string; readonly length: number }

/** undefined: it is none. An address alone is a network of one. */
export function networkOf(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const version = isIP(address)
  const longest = version === 4 ? 32 : 128
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || Number(length ?? 0) > longest) return undefined
  return { address, length: length === undefined ? longest : Number(length) }
}

/** What ends in digits is an address that is written otherwise. */
const isName = (text: string): boolean => /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(text) && !/(?:^|\.)\d+$/.test(text) && text.length <= 253
