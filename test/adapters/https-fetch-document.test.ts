/** Documents of other servers: over HTTPS, from public addresses, limited in size and time. Only tests allow loopback. */
import { readFileSync } from 'node:fs'
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { jwksCache } from '../../lambdas/access/verification/jwks-cache.ts'
import { fetchDocument } from '../../lambdas/adapters/https/fetch-document.ts'
import { addressFilterOf, fetchBlockReason, privateAddressMessage } from '../../lambdas/adapters/https/private-hosts.ts'
import { isPublic } from '../../lambdas/adapters/https/public-address.ts'
import { hostsOf } from '../../lambdas/ports/security/private-hosts.ts'
import { readConfig, variableOf } from '../../lambdas/runtime/config.ts'
import { logTextOf } from '../../lambdas/runtime/error-log.ts'

const [cert, key] = ['crt', 'key'].map((kind) => readFileSync(new URL(`../fixtures/tls/localhost.${kind}`, import.meta.url), 'utf8')) as [
  string,
  string,
]
const LONGEST = 256 * 1024
const asked: string[] = []

let said: Record<string, string> = {}
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/keys': (response) => response.end('{"keys":[]}'),
  '/said': (response) => response.writeHead(200, said).end('{"keys":[]}'),
  '/longest': (response) => response.end('a'.repeat(LONGEST)),
  '/longer': (response) => response.end('a'.repeat(LONGEST + 1)),
  '/endless': (response) => {
    const more = () => void (response.destroyed || response.write('a'.repeat(10_000), () => setImmediate(more)))
    more()
  },
  '/moved': (response) => response.writeHead(302, { location: '/keys' }).end(),
  '/gone': (response) => response.writeHead(404).end('{"keys":[]}'),
  '/empty': (response) => response.writeHead(204).end(),
  '/packed': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('a'),
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{', () => response.destroy())
  },
  '/never': () => undefined,
  '/slow': (response) => response.writeHead(200).write('{'),
}

const answer = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
  asked.push(url)
  ANSWERS[url]!(response)
}
const [secure, plain] = [createServer({ cert, key }, answer), createPlain(answer)]
const portOf = (server: typeof plain | typeof secure) => (server.address() as AddressInfo).port

beforeAll(async () => {
  for (const server of [secure, plain]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  for (const server of [secure, plain]) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

const isHere = (address: string) => address === '127.0.0.1'
const fetched = fetchDocument({ ca: cert, mayReach: isHere })
const soon = fetchDocument({ ca: cert, mayReach: isHere, patience: 100 })
const here = (path: string, host = '127.0.0.1') => `https://${host}:${portOf(secure)}${path}`

describe('A document', () => {
  it('is fetched', async () => {
    const { bytes, ...rest } = await fetched(here('/keys'))
    expect([Buffer.from(bytes).toString(), rest]).toEqual(['{"keys":[]}', {}])
    expect((await fetched(here('/longest'))).bytes.length).toBe(LONGEST)
  })

  it.each([
    ['max-age=60', undefined, 60_000],
    ['public, MAX-AGE="60" , must-revalidate', '20', 40_000],
    ['max-age=60', '61', 0],
    ['no-store', undefined, 0],
    ['max-age=60, no-cache', undefined, 0],
    ['public', undefined, undefined],
    ['max-age=soon', undefined, undefined],
  ])('states its cache lifetime: %s, %s', async (control, age, maxAge) => {
    said = { 'cache-control': control, ...(age === undefined ? {} : { age }) }
    expect((await fetched(here('/said'))).maxAge).toBe(maxAge)
  })

  it.each(['/longer', '/endless'])('is not read beyond 256 kB: %s', async (path) => {
    await expect(fetched(here(path))).rejects.toThrow('longer than 262144 bytes')
  })

  it('is not fetched from a redirect target', async () => {
    asked.length = 0
    await expect(fetched(here('/moved'))).rejects.toThrow('answered by 302')
    expect(asked).toEqual(['/moved'])
  })

  it.each([
    ['/gone', 'answered by 404'],
    ['/empty', 'answered by 204'],
    ['/packed', 'compressed'],
    ['/cut', 'aborted'],
  ])('is rejected unless it is present, complete and uncompressed: %s', async (path, why) =>
    expect(fetched(here(path))).rejects.toThrow(why),
  )

  it.each(['/never', '/slow'])('is rejected if it takes too long: %s', async (path) => {
    await expect(soon(here(path))).rejects.toThrow(/aborted/)
  })

  it('is fetched over HTTPS only, from a server with a trusted certificate', async () => {
    asked.length = 0
    await expect(fetched(`http://127.0.0.1:${portOf(plain)}/keys`)).rejects.toThrow('only https')
    await expect(fetched('file:///etc/passwd')).rejects.toThrow('only https')
    await expect(fetched(here('/keys', 'a:b@127.0.0.1'))).rejects.toThrow('only https')
    await expect(fetched(`https://127.0.0.1:${portOf(plain)}/keys`)).rejects.toThrow()
    await expect(fetchDocument({ mayReach: isHere })(here('/keys'))).rejects.toThrow('self-signed certificate')
    // An aborted request of another test may arrive late.
    expect(asked.filter((path) => path === '/keys')).toEqual([])
  })
})

describe('A private address', () => {
  const guarded = fetchDocument({ ca: cert })
  it.each([
    '127.0.0.1',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f000001',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '169.254.169.254',
    '[fe80::1]',
  ])('is not reached: %s', async (host) => {
    asked.length = 0
    await expect(guarded(here('/keys', host))).rejects.toThrow(/address .* is private; see FHIR_PRIVATE_HOSTS/)
    expect(asked).toEqual([])
  })

  it('is not reached if it is one of several addresses of a name', async () => {
    const looked: string[] = []
    const oneOfSeveral = fetchDocument({ ca: cert, mayReach: (address) => looked.push(address) > 1 })
    await expect(oneOfSeveral(here('/keys', 'localhost'))).rejects.toThrow(/address .* is private; see FHIR_PRIVATE_HOSTS/)
    expect(looked.length).toBe(1)
  })

  it.each([
    ...[
      '0.0.0.0',
      '10.0.0.1',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.255',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
      '192.0.0.192',
    ],
    ...['192.168.1.1', '198.18.0.1', '203.0.113.1', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '::', '::1'],
    ...[
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '64:ff9b::7f00:1',
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
      'ff02::1',
      '2001:db8::1',
      '2002:7f00:1::',
    ],
    ...['2001::1', 'localhost', ''],
  ])('includes %p', (address) => expect(isPublic(address)).toBe(false))

  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '169.253.0.1',
    '2606:4700::1111',
    '2a00:1450:4001::200e',
  ])('does not include %p', (address) => expect(isPublic(address)).toBe(true))
})

describe('A private address that FHIR_PRIVATE_HOSTS lists', () => {
  const reaching = (written: string) => fetchDocument({ ca: cert, mayReach: addressFilterOf(hostsOf(written)!) })
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['10.0.0.0/8, 127.0.0.0/8', '127.0.0.1'],
    ['::1/128,127.0.0.0/8', 'localhost'],
    [' LOCALHOST ', 'localhost'],
  ])('is reached: %p allows %s', async (written, host) => {
    expect(new TextDecoder().decode((await reaching(written)(here('/keys', host))).bytes)).toBe('{"keys":[]}')
  })

  it.each([
    ['', '127.0.0.1', 'address 127.0.0.1 is private; see FHIR_PRIVATE_HOSTS'],
    ['10.0.0.0/8', '127.0.0.1', 'address 127.0.0.1 is private; see FHIR_PRIVATE_HOSTS'],
    ['host', 'localhost', /^address (?:127\.0\.0\.1|::1) of localhost is private; see FHIR_PRIVATE_HOSTS$/],
    // A name permits itself, not the address it resolves to.
    ['localhost', '127.0.0.1', 'address 127.0.0.1 is private; see FHIR_PRIVATE_HOSTS'],
    ['127.0.0.2', '127.0.0.1', 'address 127.0.0.1 is private; see FHIR_PRIVATE_HOSTS'],
  ])('is not reached, and the log says why: %p does not allow %s', async (written, host, why) => {
    const said = await reaching(written)(here('/keys', host)).catch(logTextOf)
    expect(said).toMatch(why)
    expect(await fetchBlockReason(here('/keys', host), addressFilterOf(hostsOf(written)!))).toBe(said)
    const reported: unknown[] = []
    const keys = jwksCache({ fetchDocument: reaching(written), clock: { now: () => 0 }, report: (error) => reported.push(error) })
    await expect(keys(here('/keys', host), false)).rejects.toThrow('cannot be read')
    expect(reported.map(logTextOf)).toEqual([`the keys of ${here('/keys', host)} cannot be fetched: ${said}`])
  })

  it('is set in the variable that the message names', () => {
    expect(readConfig({}).privateHosts).toEqual([])
    expect(readConfig({ [variableOf('privateHosts')]: 'keycloak.lan, 10.1.0.0/16,fd00::/8' }).privateHosts).toEqual([
      ...['keycloak.lan', '10.1.0.0/16', 'fd00::/8'],
    ])
    expect(privateAddressMessage('10.0.0.5', 'a')).toContain(variableOf('privateHosts'))
    for (const wrong of ['https://a', 'a b', '10.0.0.0/33', '10.0.0.0/', '10.1', '2130706433', 'a/8', '*'])
      expect(() => readConfig({ FHIR_PRIVATE_HOSTS: wrong })).toThrow(`FHIR_PRIVATE_HOSTS is "${wrong}", but must be names of hosts`)
  })

  it('is not reported for public addresses and names that do not resolve', async () => {
    for (const url of ['https://8.8.8.8/keys', 'https://nowhere.invalid/keys'])
      expect(await fetchBlockReason(url, addressFilterOf([]))).toBeUndefined()
  })
})
