/** The gateway of the tests behaves like API Gateway. Otherwise tests of its limits would prove nothing. */
import { deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { apiTemplate } from './api-template.ts'
import type { Tree } from './aws-calls.ts'
import { firewallOf } from './firewall.ts'
import { type Front, startFront } from './front.ts'
import type { InvocationResult } from './function-host.ts'
import { type RunningGateway, startGateway } from './gateway.ts'

const resource = (ParentId: Tree, PathPart: string): Tree => ({ Type: 'AWS::ApiGateway::Resource', Properties: { ParentId, PathPart } })
const method = (ResourceId: Tree, HttpMethod: string, name: string): Tree => ({
  Type: 'AWS::ApiGateway::Method',
  Properties: {
    ResourceId,
    HttpMethod,
    Integration: { Uri: { 'Fn::Join': ['', ['arn:', { 'Fn::GetAtt': [name, 'Arn'] }, '/invocations']] } },
  },
})
const answer = (ResponseType: string, StatusCode: string | undefined, text: string): Tree => ({
  Type: 'AWS::ApiGateway::GatewayResponse',
  Properties: {
    ResponseType,
    StatusCode,
    ResponseParameters: { 'gatewayresponse.header.X-Kind': "'own'" },
    ResponseTemplates: { 'application/json': `{"text":"${text}","message":$context.error.messageString}` },
  },
})
const ROOT = { 'Fn::GetAtt': ['Api', 'RootResourceId'] }

const TEMPLATE: Tree = {
  Resources: {
    Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { BinaryMediaTypes: ['image/*'], MinimumCompressionSize: 1_000 } },
    Type: resource(ROOT, '{type}'),
    Id: resource({ Ref: 'Type' }, '{id}'),
    Metadata: resource(ROOT, 'metadata'),
    GetType: method({ Ref: 'Type' }, 'GET', 'Search'),
    AnyType: method({ Ref: 'Type' }, 'ANY', 'Fallback'),
    GetId: method({ Ref: 'Id' }, 'GET', 'Read'),
    PutId: method({ Ref: 'Id' }, 'PUT', 'Update'),
    GetMetadata: method({ Ref: 'Metadata' }, 'GET', 'Capabilities'),
    Missing: answer('MISSING_AUTHENTICATION_TOKEN', '404', 'no route'),
    Failed: answer('DEFAULT_5XX', undefined, 'failed'),
    Large: answer('REQUEST_TOO_LARGE', '413', 'large'),
    WebAcl: {
      Type: 'AWS::WAFv2::WebACL',
      Properties: {
        CustomResponseBodies: { Large: { ContentType: 'APPLICATION_JSON', Content: '{"text":"wall"}' } },
        Rules: [
          {
            Priority: 0,
            Action: { Block: { CustomResponse: { ResponseCode: 413, CustomResponseBodyKey: 'Large' } } },
            Statement: { RegexMatchStatement: { FieldToMatch: { SingleHeader: { Name: 'x-blocked' } }, RegexString: '^yes$' } },
          },
        ],
      },
    },
  },
}

let gateway: RunningGateway
let last: { readonly name: string; readonly event: Tree }
let next: InvocationResult | undefined

beforeAll(async () => {
  gateway = await startGateway({
    api: apiTemplate(TEMPLATE),
    firewall: firewallOf(TEMPLATE),
    stage: 'stage',
    timeout: 50,
    async invoke(name, event) {
      last = { name, event }
      if (next === undefined) return new Promise(() => {})
      return next
    },
  })
})
afterAll(() => gateway.close())

const result = (given: object): InvocationResult => ({ result: JSON.stringify(given) })
async function send(path: string, init: RequestInit = {}, answered: InvocationResult | undefined = result({ statusCode: 200, body: '' })) {
  next = answered
  const response = await fetch(gateway.url + path, init)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() }
}

describe('A route', () => {
  it.each([
    ['GET', '/metadata', 'Capabilities', '/metadata', null],
    ['GET', '/Patient', 'Search', '/{type}', { type: 'Patient' }],
    ['PATCH', '/Patient', 'Fallback', '/{type}', { type: 'Patient' }],
    ['GET', '/Patient/a%20b', 'Read', '/{type}/{id}', { type: 'Patient', id: 'a b' }],
  ])('sends %s %s to the function %s', async (method, path, name, resource, pathParameters) => {
    expect((await send(path, { method })).status).toBe(200)
    expect(last.name).toBe(name)
    expect(last.event).toMatchObject({ httpMethod: method, resource, pathParameters })
  })

  it('is answered by the gateway from its template if it does not exist', async () => {
    for (const path of ['/a/b/c', '/metadata/x']) {
      const { status, headers, text } = await send(path)
      expect([status, headers.get('x-kind'), JSON.parse(text)]).toEqual([
        404,
        'own',
        { text: 'no route', message: 'Missing Authentication Token' },
      ])
    }
    expect((await send('/Patient/1', { method: 'DELETE' })).status).toBe(404)
  })
})

describe('An event', () => {
  it('has each value of a parameter separately and decoded', async () => {
    await send('/Patient?a=1&a=2&b=x%7Cy')
    expect(last.event.multiValueQueryStringParameters).toEqual({ a: ['1', '2'], b: ['x|y'] })
  })

  it('has the body as base64 if its type is binary', async () => {
    await send('/Patient/1', { method: 'PUT', body: 'é', headers: { 'content-type': 'image/png' } })
    expect([last.event.body, last.event.isBase64Encoded]).toEqual([Buffer.from('é').toString('base64'), true])
    await send('/Patient/1', { method: 'PUT', body: 'é', headers: { 'content-type': 'text/plain' } })
    expect([last.event.body, last.event.isBase64Encoded]).toEqual(['é', false])
  })
})

describe('A body', () => {
  const put = (body: Uint8Array, headers: Record<string, string>) => send('/Patient/1', { method: 'PUT', body: Buffer.from(body), headers })

  it('has U+FFFD in place of bytes that are not UTF-8, unless its type is binary', async () => {
    const bytes = Uint8Array.of(0x61, 0xff, 0x80)
    await put(bytes, { 'content-type': 'application/msword' })
    expect([last.event.body, last.event.isBase64Encoded]).toEqual(['a\ufffd\ufffd', false])
    await put(bytes, { 'content-type': 'image/x-own' })
    expect([last.event.body, last.event.isBase64Encoded]).toEqual([Buffer.from(bytes).toString('base64'), true])
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('is decompressed from %s, and keeps its Content-Encoding', async (coding, compress) => {
    await put(compress('{"a":1}'), { 'content-type': 'application/fhir+json', 'content-encoding': coding })
    expect([last.event.body, last.event.multiValueHeaders['content-encoding']]).toEqual(['{"a":1}', [coding]])
  })

  it.each([
    ['gzip', 'is not gzip'],
    ['br', 'has an unknown coding'],
  ])('is rejected with 415 if it declares %s and %s', async (coding) => {
    expect((await put(Buffer.from('{}'), { 'content-encoding': coding })).status).toBe(415)
  })
})

describe('A response', () => {
  it.each([
    ['is compressed from the minimum size', 1_000, 'br, gzip', 'gzip'],
    ['is deflated if the client accepts only that', 1_000, 'deflate', 'deflate'],
    ['is not compressed if it is shorter', 999, 'gzip', null],
    ['is not compressed if the client accepts no coding of API Gateway', 1_000, 'br', null],
    ['is not compressed if the client accepts any coding', 1_000, '*', null],
  ])('%s', async (_, length, accepted, coding) => {
    const body = 'a'.repeat(length)
    const { headers, text } = await send('/metadata', { headers: { 'accept-encoding': accepted } }, result({ statusCode: 200, body }))
    expect([headers.get('content-encoding'), text]).toEqual([coding, body])
  })

  it('is decoded from base64 if the first type of Accept is binary', async () => {
    const given = result({ statusCode: 200, body: 'AAEC', isBase64Encoded: true })
    expect((await send('/metadata', { headers: { accept: 'image/png' } }, given)).bytes).toEqual(Buffer.from([0, 1, 2]))
    expect((await send('/metadata', { headers: { accept: '*/*, image/png' } }, given)).text).toBe('AAEC')
  })

  it('has the headers that API Gateway remaps under other names', async () => {
    const { headers } = await send('/metadata', {}, result({ statusCode: 401, headers: { 'WWW-Authenticate': 'Bearer' }, body: '' }))
    expect([headers.get('www-authenticate'), headers.get('x-amzn-remapped-www-authenticate')]).toEqual([null, 'Bearer'])
  })

  it.each<readonly [string, InvocationResult | undefined, number]>([
    ['nothing in time', undefined, 504],
    ['an error', { kind: 'error', message: 'x' }, 502],
    ['no status', result({ body: 'x' }), 502],
  ])('is an error of the gateway if the function returns %s', async (_, given, expected) => {
    next = given
    const response = await fetch(`${gateway.url}/metadata`)
    expect([response.status, ((await response.json()) as Tree).text]).toEqual([expected, 'failed'])
  })
})

describe('A request that is too large', () => {
  it('is rejected with 413 if its body exceeds 10 MB', async () => {
    const { status, text } = await send('/Patient/1', { method: 'PUT', body: 'x'.repeat(11_000_000) })
    expect([status, JSON.parse(text).text]).toEqual([413, 'large'])
  })

  it('is rejected with 413 if its body exceeds 10 MB after decompression, or its event the limit of Lambda', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const bomb = await send('/Patient/1', { method: 'PUT', body: gzipSync(Buffer.alloc(11_000_000)), headers })
    expect([bomb.status, JSON.parse(bomb.text).text]).toEqual([413, 'large'])
    const heavy = await send('/Patient/1', { method: 'PUT', body: 'x' }, { kind: 'event too large', message: '' })
    expect([heavy.status, JSON.parse(heavy.text).text]).toEqual([413, 'large'])
  })

  it('is rejected with 400 without the template if its headers exceed 10,240 bytes', async () => {
    const { status, headers } = await send('/metadata', { headers: { 'x-long': 'x'.repeat(10_300) } })
    expect([status, headers.get('x-kind')]).toEqual([400, null])
  })

  it('is rejected by the firewall with the text of the rule', async () => {
    const { status, text } = await send('/metadata', { headers: { 'x-blocked': 'yes' } })
    expect([status, text]).toEqual([413, '{"text":"wall"}'])
  })
})

describe('The front before the gateway', () => {
  const AS_IT_IS = 'function handler(event) { return event.request }'
  let front: Front
  beforeAll(async () => {
    front = await startFront(0, async () => ({}))
    const files = { pattern: /^$/, viewerFunction: AS_IT_IS, keys: {}, bucket: '' }
    front.forwardTo(gateway.url, { viewerFunction: AS_IT_IS, headers: {}, files })
  })
  afterAll(() => front.close())
  const ask = (path: string, headers: Record<string, string> = {}) => fetch(`http://127.0.0.1:${front.port}/fhir${path}`, { headers })

  it('passes any names of parameters and headers, even names of inherited properties', async () => {
    next = result({ statusCode: 200, body: '' })
    const names = { toString: ['1'], constructor: ['2', '3'], ['__proto__']: ['4'] }
    const { status } = await ask('/Patient?toString=1&constructor=2&__proto__=4&constructor=3', { constructor: 'a', valueof: 'b' })
    expect(status).toBe(200)
    expect(Object.entries(last.event.multiValueQueryStringParameters).sort()).toEqual(Object.entries(names).sort())
    expect(last.event.multiValueHeaders).toMatchObject({ constructor: ['a'], valueof: ['b'] })
  })

  it('answers 502 if its function throws, and serves the next request', async () => {
    next = result({ statusCode: 200, body: '' })
    const failing =
      'function handler(event) { if (event.request.uri === "/fhir/Patient/bad") throw new Error("bad"); return event.request }'
    front.forwardTo(gateway.url, {
      viewerFunction: failing,
      headers: {},
      files: { pattern: /^$/, viewerFunction: '', keys: {}, bucket: '' },
    })
    expect((await ask('/Patient/bad')).status).toBe(502)
    expect((await ask('/Patient/good')).status).toBe(200)
  })
})
