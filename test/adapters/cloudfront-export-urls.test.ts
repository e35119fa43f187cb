/** Links to export files, verified as CloudFront verifies them: test/fixtures/cloudfront.ts. */
import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms'
import { describe, expect, it } from '@jest/globals'
import { CloudFrontExportUrls } from '../../lambdas/adapters/cloudfront/export-urls.ts'
import { readPublicKeyPem } from '../../lambdas/adapters/kms/public-key.ts'
import { checkSignedUrl, type UrlDecision } from '../fixtures/cloudfront.ts'
import { createMemoryKms } from '../fixtures/kms.ts'

const NOW = Date.UTC(2026, 0, 31, 12)
const DAY = 86_400_000
const ORIGIN = 'https://d1.cloudfront.net'

createMemoryKms()
const client = new KMSClient({ region: 'us-east-1' })

async function newKey() {
  const { KeyMetadata } = await client.send(new CreateKeyCommand({ KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY' }))
  const keyId = KeyMetadata!.KeyId!
  // KMS is eventually consistent: the first read of a new key may fail.
  await readPublicKeyPem(keyId, client).catch(() => undefined)
  return { keyId, pem: await readPublicKeyPem(keyId, client) }
}

const pathOf = ({ job, file }: { readonly job: string; readonly file: string }): string => `/exports/${job}/files/${file}.ndjson`

async function linking(keyPairId = 'K1') {
  const { keyId, pem } = await newKey()
  const urls = new CloudFrontExportUrls({ origin: ORIGIN, pathOf, keyId, keyPairId, client })
  return { urls, keys: { [keyPairId]: pem } }
}

const PASSED: UrlDecision = { kind: 'passed' }
const file = (client: string) => ({ job: 'job-1', file: 'Patient', client })

describe('a link to an export file', () => {
  it('names the object, its client and its expiry, and opens the file until then', async () => {
    const { urls, keys } = await linking()
    const url = await urls.sign(file('reporting'), NOW + 7 * DAY + 999)
    const { pathname, searchParams } = new URL(url)
    expect(pathname).toBe('/exports/job-1/files/Patient.ndjson')
    expect([searchParams.get('client'), searchParams.get('Expires')]).toEqual(['reporting', String((NOW + 7 * DAY) / 1_000)])
    const at = (now: number) => checkSignedUrl(url, { keys, now: () => now })
    expect([at(NOW), at(NOW + 7 * DAY - 1)]).toEqual([PASSED, PASSED])
    expect(at(NOW + 7 * DAY)).toEqual({ kind: 'refused', why: 'expired' })
  })

  it('names its user and is invalid with another', async () => {
    const { urls, keys } = await linking()
    const url = await urls.sign({ ...file('app'), user: 'u@auth.example.org/a b' }, NOW + DAY)
    expect(new URL(url).searchParams.get('user')).toBe('u@auth.example.org/a b')
    expect(checkSignedUrl(url, { keys, now: () => NOW })).toEqual(PASSED)
    for (const changed of [url.replace(/user=[^&]*/, 'user=other'), url.replace(/&user=[^&]*/, '')])
      expect(checkSignedUrl(changed, { keys, now: () => NOW })).toMatchObject({ kind: 'refused' })
  })

  it.each(['arn:aws:sts::1:assumed-role/a/b+c', 'app@auth.example.org/realms/a', 'a client & more=1'])(
    'accepts the client id %s',
    async (id) => {
      const { urls, keys } = await linking()
      const url = await urls.sign(file(id), NOW + DAY)
      expect(checkSignedUrl(url, { keys, now: () => NOW })).toEqual(PASSED)
      expect(new URL(url).searchParams.get('client')).toBe(id)
      // Clients that parse and serialize the URL send it in this form.
      expect(checkSignedUrl(new URL(url).href, { keys, now: () => NOW })).toEqual(PASSED)
    },
  )

  it.each<[string, (url: string) => string]>([
    ['another file', (url) => url.replace('Patient.ndjson', 'Observation.ndjson')],
    ['another job', (url) => url.replace('job-1', 'job-2')],
    ['another client', (url) => url.replace('client=reporting', 'client=other')],
    ['no client', (url) => url.replace('client=reporting&', '')],
    ['a second client', (url) => url.replace('&Expires', '&client=other&Expires')],
    ['another time', (url) => url.replace(/Expires=(\d+)/, (_, seconds) => `Expires=${Number(seconds) + 1}`)],
    ['another origin', (url) => url.replace('d1.', 'd2.')],
    ['another signature', (url) => url.replace(/Signature=(.)/, (_, first) => `Signature=${first === 'A' ? 'B' : 'A'}`)],
    ['another algorithm', (url) => url.replace('Hash-Algorithm=SHA256', 'Hash-Algorithm=SHA1')],
  ])('is refused with %s', async (_, tamper) => {
    const { urls, keys } = await linking()
    const url = await urls.sign(file('reporting'), NOW + DAY)
    expect(tamper(url)).not.toBe(url)
    expect(checkSignedUrl(tamper(url), { keys, now: () => NOW }).kind).toBe('refused')
  })

  it('is refused if another key signed it, also under the id of this key', async () => {
    const [{ keys }, { urls }] = [await linking(), await linking()]
    expect(checkSignedUrl(await urls.sign(file('a'), NOW + DAY), { keys, now: () => NOW })).toEqual({
      kind: 'refused',
      why: 'AccessDenied',
    })
  })

  it('stays valid while its key is one of two, and is refused without it', async () => {
    const [before, after] = [await linking('K1'), await linking('K2')]
    const [old, young] = [await before.urls.sign(file('a'), NOW + DAY), await after.urls.sign(file('a'), NOW + DAY)]
    const within = (keys: Readonly<Record<string, string>>) => [old, young].map((url) => checkSignedUrl(url, { keys, now: () => NOW }).kind)
    expect(within({ ...before.keys, ...after.keys })).toEqual(['passed', 'passed'])
    expect(within(after.keys)).toEqual(['refused', 'passed'])
  })
})
