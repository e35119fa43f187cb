/** Binary content through API Gateway, which passes some media types as bytes and all others as text. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { writeJson } from '../../lambdas/fhir/json.ts'
import { BINARY_TYPES } from '../../lambdas/http/gateway-contract.ts'
import { requestOf, resultOf } from '../../lambdas/http/gateway-event.ts'
import type { Serve } from '../../lambdas/http/server.ts'
import type { Interaction } from '../../lambdas/interactions/interaction.ts'
import { notFound, versionResponse } from '../../lambdas/interactions/resources/version-response.ts'
import type { ResourceVersion } from '../../lambdas/ports/store/resource-store.ts'
import { apiTemplate } from '../cloud/api-template.ts'
import type { Tree } from '../cloud/aws-calls.ts'
import { type RunningGateway, startGateway } from '../cloud/gateway.ts'
import { ALL_BYTES, MEDIA_TYPES } from '../fixtures/media-types.ts'
import { startTestServer, type TestServer } from './front.ts'

const TEMPLATE: Tree = {
  Resources: {
    Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { BinaryMediaTypes: BINARY_TYPES } },
    Type: { Type: 'AWS::ApiGateway::Resource', Properties: { ParentId: {}, PathPart: '{type}' } },
    Id: { Type: 'AWS::ApiGateway::Resource', Properties: { ParentId: { Ref: 'Type' }, PathPart: '{id}' } },
    Any: {
      Type: 'AWS::ApiGateway::Method',
      Properties: { ResourceId: { Ref: 'Id' }, HttpMethod: 'ANY', Integration: { Uri: { 'Fn::GetAtt': ['Function', 'Arn'] } } },
    },
  },
}

const stored = new Map<string, ResourceVersion>()
/** Stores what is put, and returns it as the interaction of a read does. */
const keep: Interaction = async (request) => {
  const { type = '', id = '', resource, interaction } = request
  if (interaction === 'update' && resource !== undefined) {
    const body = new TextEncoder().encode(writeJson({ ...resource, id }))
    stored.set(id, { type, id, body, versionId: '1', lastUpdated: 0, compartments: [], deleted: false } as never)
    return { status: 201 }
  }
  const version = stored.get(id)
  if (version === undefined) throw notFound({ type, id })
  return versionResponse(version, request, { current: async () => [] })
}

let front: TestServer
let gateway: RunningGateway
beforeAll(async () => {
  let serve: Serve | undefined
  front = await startTestServer(keep, { maxBody: 10_000 }, (own) => (serve = own))
  gateway = await startGateway({
    api: apiTemplate(TEMPLATE),
    firewall: () => undefined,
    stage: 'fhir',
    invoke: async (_, event) => ({ result: JSON.stringify(resultOf(event as never, await serve!(requestOf(event as never), 'id'))) }),
  })
})
afterAll(async () => {
  await gateway.close()
  await front.close()
})

const send = async (method: string, path: string, headers: Record<string, string>, body?: Uint8Array | string) => {
  const response = await fetch(gateway.url + path, { method, headers, ...(body === undefined ? {} : { body: body as string }) })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, type: response.headers.get('content-type'), bytes, text: bytes.toString() }
}
const put = (type: string, body: Uint8Array | string, id = '1') => send('PUT', `/Binary/${id}`, { 'content-type': type }, body)
/** Stores it in the form that is always passed unchanged. */
const putAsJson = (contentType: string, bytes: Uint8Array) =>
  put(
    'application/fhir+json',
    JSON.stringify({ resourceType: 'Binary', id: '1', contentType, data: Buffer.from(bytes).toString('base64') }),
  )
const storedBytes = async () => [
  ...Buffer.from(JSON.parse((await send('GET', '/Binary/1', { accept: 'application/fhir+json' })).text).data, 'base64'),
]

describe.each(MEDIA_TYPES)('content of %s', (type, passed) => {
  it('is stored as it was sent, or 415', async () => {
    stored.clear()
    const { status, text } = await put(type, ALL_BYTES)
    if (passed === 'bytes') expect([status, await storedBytes()]).toEqual([201, [...ALL_BYTES]])
    else {
      expect([status, JSON.parse(text).issue[0].code, stored.size]).toEqual([415, 'not-supported', 0])
      expect(text).toContain('as JSON')
    }
  })

  it('is stored if it is text in UTF-8 and its type says so, or 415', async () => {
    stored.clear()
    const { status } = await put(type, 'grün')
    if (passed === 'neither') expect([status, stored.size]).toEqual([415, 0])
    else expect([status, await storedBytes()]).toEqual([201, [...Buffer.from('grün')]])
  })

  it('is read as it was stored, or 406', async () => {
    await putAsJson(type, ALL_BYTES)
    const { status, bytes, text } = await send('GET', '/Binary/1', { accept: type })
    if (passed === 'bytes') expect([status, [...bytes]]).toEqual([200, [...ALL_BYTES]])
    else expect([status, JSON.parse(text).issue[0].code]).toEqual([406, 'not-supported'])
  })

  it('is read as it was stored if it is text in UTF-8, or Accept begins with a binary type', async () => {
    await putAsJson(type, Buffer.from('grün'))
    expect(await send('GET', '/Binary/1', { accept: type })).toMatchObject({ status: 200, type, text: 'grün' })
    await putAsJson(type, ALL_BYTES)
    const { status, bytes } = await send('GET', '/Binary/1', { accept: `application/octet-stream, ${type}` })
    expect([status, [...bytes]]).toEqual([200, [...ALL_BYTES]])
  })
})

describe('content of image/png', () => {
  beforeAll(() => putAsJson('image/png', ALL_BYTES))

  it('is sent as bytes to an img element', async () => {
    const { bytes, type } = await send('GET', '/Binary/1', { accept: 'image/avif,image/webp,*/*;q=0.8' })
    expect([[...bytes], type]).toEqual([[...ALL_BYTES], 'image/png'])
  })

  it.each(['GET', 'HEAD'])('is 406 to %s if the gateway would not decode it', async (method) => {
    const { status, type, text } = await send(method, '/Binary/1', { accept: 'text/html,image/*,*/*;q=0.8' })
    expect([status, type]).toEqual([406, 'application/fhir+json; charset=utf-8'])
    if (method === 'GET') expect(JSON.parse(text).issue[0].details.text).toContain('Accept application/fhir+json')
  })
})

it.each([
  ['application/fhir+json', '{"resourceType":"Binary","id":"1","contentType":"text/\ufffd"}'],
  ['application/fhir+json', Uint8Array.of(...Buffer.from('{"resourceType":"Binary","id":"1","contentType":"text/'), 0xe4, 0x22, 0x7d)],
  ['text/plain', 'gr\ufffdn'],
])('a body of %s that may have been changed is 415', async (type, body) => {
  stored.clear()
  const { status, text } = await put(type, body)
  expect([status, stored.size]).toEqual([415, 0])
  expect(JSON.parse(text).issue[0].details.text).toContain('write the character as \\ufffd in JSON')
})

it('U+FFFD that is escaped in JSON is stored', async () => {
  expect((await put('application/fhir+json', '{"resourceType":"Binary","id":"1","contentType":"text/\\ufffd"}')).status).toBe(201)
})
