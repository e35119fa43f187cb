/**
 * Filter of the addresses that the server may connect to: public ones, and private hosts that the operator lists by name or by network,
 * such as `10.1.0.0/16`.
 */
import { lookup } from 'node:dns/promises'
import { BlockList, isIPv6 } from 'node:net'
import { networkOf } from '../../ports/security/private-hosts.ts'
import { isPublic } from './public-address.ts'

/** Whether the server may connect to the address. `host`: host in the URL. */
export type AddressFilter = (address: string, host: string) => boolean

export function addressFilterOf(written: readonly string[]): AddressFilter {
  const networks = new BlockList()
  const names = new Set<string>()
  for (const each of written) {
    const network = networkOf(each)
    if (network === undefined) names.add(each)
    else networks.addSubnet(network.address, network.length, familyOf(network.address))
  }
  return (address, host) => isPublic(address) || names.has(host) || networks.check(address, familyOf(address))
}

/**
 * Returns the reason why the URL must not be fetched: the filter rejects an address of its host. Returns undefined if it rejects none, or
 * if the DNS lookup fails.
 */
export async function fetchBlockReason(url: string, mayReach: AddressFilter): Promise<string | undefined> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, { all: true }).catch(() => [])
  const walled = found.find(({ address }) => !mayReach(address, host))
  return walled === undefined ? undefined : privateAddressMessage(walled.address, host)
}

/**
 * Whether the server may fetch the URL: each address of its host is public, or the operator lists it. Also true if the DNS lookup fails. `written`:
 * private hosts and networks that the operator lists.
 */
export const mayFetch = async (url: string, written: readonly string[]): Promise<boolean> =>
  (await fetchBlockReason(url, addressFilterOf(written))) === undefined

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4')

export const privateAddressMessage = (address: string, host: string): string =>
  `address ${address}${address === host ? '' : ` of ${host}`} is private; see FHIR_PRIVATE_HOSTS`
