/**
 * Decides whether an address belongs to the public internet. https://www.iana.org/assignments/iana-ipv4-special-registry,
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/**
 * Non-public IPv4 networks: this network, private, shared, loopback, link-local (cloud metadata), protocol assignments, documentation, 6to4
 * relays, benchmarks, multicast, reserved.
 */
const NOT_PUBLIC_4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24'],
  ...['192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]
/** Network that contains all public IPv6 addresses. */
const GLOBAL_6 = ['2000::/3']
/** Non-public parts of that network: protocol assignments, documentation, and 6to4, whose addresses embed an IPv4 address. */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

function listOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', length] = subnet.split('/')
    list.addSubnet(address, Number(length), family)
  }
  return list
}

const [notPublic4, global6, notPublic6] = [listOf(NOT_PUBLIC_4, 'ipv4'), listOf(GLOBAL_6, 'ipv6'), listOf(NOT_PUBLIC_6, 'ipv6')]

export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !notPublic4.check(address, 'ipv4')
  return isIPv6(address) && global6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6')
}
