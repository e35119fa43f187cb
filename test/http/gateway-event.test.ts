/** Requests and answers of API Gateway. https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html */
import { describe, expect, it } from '@jest/globals'
import { type GatewayEvent, requestIdOf, requestOf, resultOf } from '../../lambdas/http/gateway-event.ts'

const event = (more: Partial<GatewayEvent> = {}): GatewayEvent => ({ httpMethod: 'GET', resource: '/{type}', ...more })
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const JSON_HEADERS = { 'content-type': 'application/fhir+json; charset=utf-8' }

describe('a request', () => {
  it('gets its path from the route and its parameters, encoded again', () => {
    const path = (resource: string, pathParameters?: Record<string, string>) =>
      requestOf(event({ resource, ...(pathParameters && { pathParameters }) })).path
    expect(path('/metadata')).toBe('/metadata')
    expect(path('/{type}/{id}/_history/{versionId}', { type: 'Patient', id: 'a', versionId: '1' })).toBe('/Patient/a/_history/1')
    expect(path('/{type}/{id}', { type: 'Patient', id: 'ä/b c' })).toBe('/Patient/%C3%A4%2Fb%20c')
    expect(path('/{type}/{id}/{type2}', { type: 'Patient', id: 'a', type2: '*' })).toBe('/Patient/a/*')
  })

  it('keeps repeated parameters and special characters', () => {
    const { query } = requestOf(event({ multiValueQueryStringParameters: { date: ['ge2020', 'lt2021'], code: ['s|c,d&e+f'] } }))
    expect([...new URLSearchParams(query)]).toEqual([
      ['date', 'ge2020'],
      ['date', 'lt2021'],
      ['code', 's|c,d&e+f'],
    ])
  })

  it('has header names in lower case, repeated ones joined', () => {
    const { headers } = requestOf(event({ multiValueHeaders: { 'If-Match': ['W/"1"'], Accept: ['a/b', 'c/d'], Cookie: ['a=1', 'b=2'] } }))
    expect(headers).toEqual({ 'if-match': 'W/"1"', accept: 'a/b, c/d', cookie: 'a=1; b=2' })
  })

  it('has its body in bytes, from text and from base64', () => {
    expect(Buffer.from(requestOf(event({ body: 'ä' })).body)).toEqual(Buffer.from('ä'))
    expect([...requestOf(event({ body: '/wA=', isBase64Encoded: true })).body]).toEqual([255, 0])
    expect(requestOf(event({ body: null })).body).toHaveLength(0)
  })

  it('has the client address of the gateway, or behind CloudFront that of CloudFront', () => {
    const given = event({ multiValueHeaders: { 'True-Client-IP': ['192.0.2.1'] }, requestContext: { identity: { sourceIp: '192.0.2.9' } } })
    expect([requestOf(given).address, requestOf(given, true).address]).toEqual(['192.0.2.9', '192.0.2.1'])
  })

  it('is a GET with isHead for HEAD', () => expect(requestOf(event({ httpMethod: 'HEAD' }))).toMatchObject({ method: 'GET', isHead: true }))

  it('has the request id of the client if valid, otherwise that of the gateway', () => {
    const of = (id: string) =>
      requestIdOf(event({ multiValueHeaders: { 'X-Request-Id': [id] }, requestContext: { requestId: 'g' } }), () => 'n')
    expect([of('a-1'), of('a b'), of('')]).toEqual(['a-1', 'g', 'g'])
    expect(requestIdOf(event(), () => 'n')).toBe('n')
  })
})

describe('a response', () => {
  it('is text if it is UTF-8, and base64 otherwise', () => {
    expect(resultOf(event(), { status: 200, headers: JSON_HEADERS, body: [bytes('{"ä'), bytes('":1}')] })).toEqual({
      statusCode: 200,
      headers: JSON_HEADERS,
      body: '{"ä":1}',
      isBase64Encoded: false,
    })
    const asked = event({ multiValueHeaders: { Accept: ['image/png'] } })
    const image = resultOf(asked, { status: 200, headers: { 'content-type': 'image/png' }, body: [Uint8Array.of(255), Uint8Array.of(0)] })
    expect(image).toMatchObject({ body: '/wA=', isBase64Encoded: true })
  })

  it('has no body for HEAD', () => {
    expect(resultOf(event({ httpMethod: 'HEAD' }), { status: 200, headers: JSON_HEADERS, body: [bytes('{}')] }).body).toBe('')
  })

  const large = { status: 200, headers: { ...JSON_HEADERS, etag: 'W/"1"' }, body: [bytes(JSON.stringify({ a: '"'.repeat(2_500_000) }))] }

  it('is 403 too-costly if it is too large and only read', () => {
    const posts = ['/{type}/_search', '/{type}/{id}/$everything', '/{type}/$docref', '/{type}/$validate', '/$apply-fhirpath']
    for (const read of [event(), ...posts.map((resource) => event({ httpMethod: 'POST', resource }))]) {
      const { statusCode, headers, body } = resultOf(read, large)
      expect([statusCode, headers['content-type']]).toEqual([403, 'application/fhir+json; charset=utf-8'])
      expect(JSON.parse(body)).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'too-costly' }] })
    }
  })

  it('remains an error if it is too large and failed', () => {
    const { statusCode, body } = resultOf(event({ httpMethod: 'PUT' }), { ...large, status: 422 })
    expect([statusCode, JSON.parse(body).issue[0].severity]).toEqual([403, 'error'])
  })

  it('remains a success if it is too large and written', () => {
    const { statusCode, headers, body } = resultOf(event({ httpMethod: 'PUT' }), large)
    expect([statusCode, headers.etag]).toEqual([200, 'W/"1"'])
    expect(JSON.parse(body)).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ severity: 'warning' }] })
  })
})
