/** Loads with signed requests. The test server computes each signature from the description of AWS and rejects any other. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { createGet, createPost } from '../../../bin/client/http-post.ts'
import { resolveSafeLink } from '../../../bin/client/safe-link.ts'
import { sigv4Authorizer } from '../../../bin/client/sigv4-signing.ts'
import { resolveAuthorization } from '../../../bin/commands/authorize.ts'
import { AWS_CREDENTIALS, authorizationOf, isSigned, type ReceivedRequest, startRecordingServer } from '../../fixtures/recording-server.ts'

const given = async () => AWS_CREDENTIALS
const taken = (got: ReceivedRequest) => ({ status: isSigned(got) ? 200 : 403 })
const scopeOf = ({ headers }: ReceivedRequest): string => /Credential=([^,]+)/.exec(String(headers.authorization))![1]!

describe('Signed requests', () => {
  it('are checked by a verifier that reproduces the example of AWS', () => {
    const authorization =
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature='
    const headers = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', authorization }
    const example = { method: 'GET', url: '/', headers, body: Buffer.alloc(0) }
    expect(authorizationOf(example, AWS_CREDENTIALS.secretAccessKey)).toBe(
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    )
  })

  it('are accepted with a body, with a query, and with session credentials', async () => {
    const { all, base } = await startRecordingServer(taken)
    const authorize = sigv4Authorizer(base, 'eu-central-1', given)
    const { status } = await createPost(base, authorize)(Buffer.from('{"resourceType":"Bundle","id":"ä"}'))
    const url = `${base}/Patient/$x?name=a%20b&name=%C3%A4&_count=0&code=a|b`
    const asked = await createGet(authorize)(url, { 'x-consistency': 'eventual' })
    expect([status, asked.status]).toEqual([200, 200])
    expect(all.map(scopeOf)).toEqual(Array(2).fill(expect.stringMatching(/^AKIDEXAMPLE\/\d{8}\/eu-central-1\/execute-api\/aws4_request$/)))
    expect(all[0]!.headers['x-amz-security-token']).toBe('session')
  })

  it('are rejected if one byte of the body differs', async () => {
    const { base } = await startRecordingServer((got) => taken({ ...got, body: Buffer.from('{}') }))
    const { status } = await createPost(base, sigv4Authorizer(base, 'us-east-1', given))(Buffer.from('{ }'))
    expect(status).toBe(403)
  })

  it('are signed again for each retry against a busy server', async () => {
    const { all, base } = await startRecordingServer((got, number) => (number === 1 ? { status: 503 } : taken(got)))
    let signed = 0
    const counting = async () => {
      signed++
      return AWS_CREDENTIALS
    }
    const authorize = sigv4Authorizer(base, 'us-east-1', counting)
    expect(
      (await createPost(base, async (request) => ({ ...(await authorize(request)), 'x-n': String(signed) }))(Buffer.from('{}'))).status,
    ).toBe(200)
    expect(all.map(({ headers }) => headers['x-n'])).toEqual(['1', '2'])
  })

  it('carry no credentials to a server they are redirected to', async () => {
    const other = await startRecordingServer(() => ({ status: 200 }))
    const { base } = await startRecordingServer(() => ({ status: 307, headers: { location: other.base } }))
    await createPost(base, sigv4Authorizer(base, 'us-east-1', given))(Buffer.from('{}'))
    const [{ headers }] = other.all as [ReceivedRequest]
    expect([headers.authorization, headers['x-amz-security-token']]).toEqual([undefined, undefined])
  })

  it('do not follow redirects to FTP or from HTTPS to HTTP', async () => {
    const { base } = await startRecordingServer(() => ({ status: 307, headers: { location: 'ftp://127.0.0.1/fhir' } }))
    expect(await createPost(base)(Buffer.from('{}'))).toMatchObject({ status: 307 })
    expect(resolveSafeLink('http://other.example/fhir', 'https://fhir.example/fhir')).toBeUndefined()
  })

  it.each([
    ['https://a1b2c3.execute-api.eu-west-1.amazonaws.com/fhir', '', 'eu-west-1'],
    ['https://a1b2c3.execute-api.cn-north-1.amazonaws.com.cn/fhir', 'us-east-1', 'cn-north-1'],
    ['https://fhir.example.org/fhir', 'us-west-2', 'us-west-2'],
  ])('use the region in the host name, otherwise that of the environment: %s', async (base, here, region) => {
    const { authorization } = await sigv4Authorizer(base, here, given)({ method: 'GET', url: base })
    expect(authorization).toContain(`/${region}/execute-api/`)
  })

  it('require a region', () => expect(() => sigv4Authorizer('https://fhir.example.org/fhir', '', given)).toThrow('set AWS_REGION'))
})

describe('A load with --sigv4', () => {
  const before = { ...process.env }
  afterEach(() => {
    process.env = { ...before }
  })
  const as = { to: 'https://a1b2c3.execute-api.eu-west-1.amazonaws.com/fhir', data: 'nowhere', sigv4: true }

  it('signs with the credentials of the environment', async () => {
    process.env = { ...before, AWS_ACCESS_KEY_ID: 'AKIDOFENV', AWS_SECRET_ACCESS_KEY: 'x' }
    const { authorize } = await resolveAuthorization(as)
    const { authorization } = await authorize!({ method: 'GET', url: as.to })
    expect(authorization).toContain('Credential=AKIDOFENV/')
  })

  it('cannot be combined with --tenant', () =>
    expect(resolveAuthorization({ ...as, tenant: 'a' })).rejects.toThrow('give neither --client nor --tenant'))
})
