/** Who asks, as limits and audit records have it: the peer, or whom a proxy names. */
import { afterEach, expect, it } from '@jest/globals'
import { startTestServer, type TestServer } from './front.ts'

let front: TestServer

afterEach(() => front.close())

/** As whom a request with these headers comes to the steps. */
async function addressOf(headers: Readonly<Record<string, string>>, addressHeader?: string): Promise<string | undefined> {
  let found: string | undefined
  front = await startTestServer(
    async () => ({ status: 200 }),
    addressHeader === undefined ? {} : { addressHeader },
    (serve) => (http, requestId) => {
      found = http.address
      return serve(http, requestId)
    },
  )
  await (await fetch(`http://127.0.0.1:${front.port}/metadata`, { headers })).arrayBuffer()
  return found
}

it.each([
  ['the peer without a proxy', { 'x-forwarded-for': '192.0.2.1' }, undefined, '127.0.0.1'],
  ['the address that the proxy adds', { 'x-forwarded-for': '192.0.2.1' }, 'X-Forwarded-For', '192.0.2.1'],
  ['the last address, not those that the client sent', { 'x-forwarded-for': '203.0.113.9, 192.0.2.1' }, 'X-Forwarded-For', '192.0.2.1'],
  ['IPv4 for a mapped address', { 'x-real-ip': '::ffff:192.0.2.1' }, 'x-real-ip', '192.0.2.1'],
  ['the peer for a malformed address', { 'x-forwarded-for': '192.0.2.1, unknown' }, 'X-Forwarded-For', '127.0.0.1'],
  ['the peer without the header', {}, 'X-Forwarded-For', '127.0.0.1'],
] as const)('the client address is %s', async (_, headers, addressHeader, address) => {
  expect(await addressOf(headers, addressHeader)).toBe(address)
})
