/** Hosts behind our own walls that may be asked all the same: those a person has written down, by name, or by networks as `10.1.0.0/16`. */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { isPublic } from './public-address.ts'

/** `host`: as it stands in the URL. */
export type MayReach = (address: string, host: string) => boolean

export function mayReachOf(written: readonly string[]): MayReach {
  const networks = new BlockList()
  const names = new Set<string>()
  for (const each of written) {
    const network = networkOf(each)
    if (network === undefined) names.add(each)
    else networks.addSubnet(network.address, network.length, familyOf(network.address))
  }
  return (address, host) => isPublic(address) || names.has(host) || networks.check(address, familyOf(address))
}

/** Why what is published there is not fetched; undefined: no wall is before it, or nobody knows the name here. */
export async function wallBefore(url: string, mayReach: MayReach): Promise<string | undefined> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, { all: true }).catch(() => [])
  const walled = found.find(({ address }) => !mayReach(address, host))
  return walled === undefined ? undefined : notReached(walled.address, host)
}

/** Names and networks, separated by commas. undefined where one is neither. */
export function hostsOf(text: string): readonly string[] | undefined {
  const hosts = text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '')
  return hosts.every((each) => networkOf(each) !== undefined || isName(each)) ? hosts : undefined
}

type Network = { readonly address: string; readonly length: number }

function networkOf(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const version = isIP(address)
  const longest = version === 4 ? 32 : 128
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || Number(length ?? 0) > longest) return undefined
  return { address, length: length === undefined ? longest : Number(length) }
}

/** What ends in digits is an address that is written otherwise. */
const isName = (text: string): boolean => /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(text) && !/(?:^|\.)\d+$/.test(text) && text.length <= 253

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4')

export const notReached = (address: string, host: string): string =>
  `address ${address}${address === host ? '' : ` of ${host}`} is private; see FHIR_PRIVATE_HOSTS`
