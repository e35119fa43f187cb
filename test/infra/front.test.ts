/** CloudFront and the firewall in front of the API. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { ENDPOINT_ROUTES, type EndpointRoute, ROUTES, type Route } from '../../lambdas/catalogue/catalogue.ts'
import { settingsOf } from '../../lib/settings/settings.ts'
import { resourcesOfType, type SynthesizedStacks, type Tree } from './assembly.ts'
import { DOMAIN, demo, production, signed, stageEntries, tokens } from './stages.ts'

type Inspected = { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>> }

/** Whether WAF matches the request, for the statements that the rules nest. */
function fits(statement: Tree, request: Inspected): boolean {
  const { NotStatement, OrStatement, SizeConstraintStatement, ByteMatchStatement, RegexMatchStatement } = statement
  if (NotStatement !== undefined) return !fits(NotStatement.Statement, request)
  if (OrStatement !== undefined) return OrStatement.Statements.some((each: Tree) => fits(each, request))
  const { FieldToMatch } = SizeConstraintStatement ?? ByteMatchStatement ?? RegexMatchStatement
  const { method, path, headers } = request
  const value = FieldToMatch.Method ? method : FieldToMatch.UriPath ? path : headers[FieldToMatch.SingleHeader.Name]
  // A statement about a header does not match a request without it.
  if (value === undefined) return false
  if (SizeConstraintStatement !== undefined)
    return SizeConstraintStatement.ComparisonOperator === 'GT' && value.length > SizeConstraintStatement.Size
  if (ByteMatchStatement !== undefined)
    return ByteMatchStatement.PositionalConstraint === 'EXACTLY' && value === ByteMatchStatement.SearchString
  return new RegExp(RegexMatchStatement.RegexString).test(value)
}

describe('the front of the API', () => {
  const viewerOf = ({ service }: SynthesizedStacks): Tree =>
    Object.entries(resourcesOfType(service, 'AWS::CloudFront::Function')).find(([id]) => id.startsWith('Front'))![1]
  const [viewer, viewerOfTokens] = [viewerOf(signed), viewerOf(tokens)]
  const viewerRequest = (uri: string, querystring: object = {}, headers: object = {}, { FunctionCode } = viewer): Tree => {
    const request = { uri, querystring, headers: { 'true-client-ip': { value: 'made up' }, ...headers } }
    return runInNewContext(`${FunctionCode}; handler(event)`, { event: { request, viewer: { ip: '192.0.2.1' } } })
  }

  it('encodes characters in every value that the API rejects or splits at', () => {
    const value = 'http://loinc.org|1234-5;{x}'
    const { querystring } = viewerRequest('/fhir/Observation', {
      code: { value, multiValue: [{ value }, { value: 'a%7Cb' }] },
      _count: { value: '3' },
    })
    const encoded = 'http://loinc.org%7C1234-5%3B%7Bx%7D'
    expect(querystring).toEqual({ code: { value: encoded, multiValue: [{ value: encoded }, { value: 'a%7Cb' }] }, _count: { value: '3' } })
  })

  it('passes the address of the client to the firewall, whatever the client sends', () =>
    expect(viewerRequest('/fhir').headers['true-client-ip'].value).toBe('192.0.2.1'))

  it('returns 404 for other paths', () => {
    const { statusCode, body } = viewerRequest('/favicon.ico')
    expect([statusCode, JSON.parse(body.data).resourceType]).toEqual([404, 'OperationOutcome'])
    expect(viewerRequest('/fhirs').statusCode).toBe(404)
  })

  it('finds discovery documents of the authorization server at the root', () => {
    const found = (uri: string) => viewerRequest(uri, {}, {}, viewerOfTokens)
    for (const name of ['smart-configuration', 'openid-configuration', 'oauth-authorization-server']) {
      for (const end of ['', '/fhir']) expect(found(`/.well-known/${name}${end}`).uri).toBe(`/fhir/.well-known/${name}`)
    }
    for (const uri of ['/.well-known/smart-configuration/other', '/.well-known/other', '/x/.well-known/smart-configuration'])
      expect(found(uri).statusCode).toBe(404)
    expect(viewerRequest('/.well-known/smart-configuration').statusCode).toBe(404)
  })

  it('finds the health at the root, and only there', () => {
    for (const code of [viewer, viewerOfTokens]) {
      expect(viewerRequest('/health', {}, {}, code).uri).toBe('/fhir/health')
      for (const uri of ['/health/', '/health/1', '//health', '/Health', '/healthy'])
        expect(viewerRequest(uri, {}, {}, code).statusCode).toBe(404)
    }
  })

  it('returns 414 or 431 for requests that are too long for the API', () => {
    const responseOf = ({ statusCode, body }: Tree) => [statusCode, JSON.parse(body.data).issue[0].code]
    const long = { value: 'x'.repeat(1_000) }
    const many = { multiValue: Array.from({ length: 11 }, () => long), ...long }
    expect(responseOf(viewerRequest('/fhir/Patient', { name: many }))).toEqual([414, 'too-long'])
    // CloudFront itself rejects more than 8,192.
    expect(responseOf(viewerRequest('/fhir/Patient', { name: { value: 'x'.repeat(8_050) } }))).toEqual([414, 'too-long'])
    expect(viewerRequest('/fhir/Patient', { name: { value: 'x'.repeat(7_950) } }).uri).toBe('/fhir/Patient')
    expect(responseOf(viewerRequest('/fhir/Patient', {}, { cookie: many }))).toEqual([431, 'too-long'])
    expect(
      viewerRequest('/fhir/Patient', { name: { value: 'x'.repeat(4_000) } }, { authorization: { value: 'x'.repeat(4_000) } }).uri,
    ).toBe('/fhir/Patient')
  })

  it('passes all other requests on, and caches nothing', () => {
    const [{ DistributionConfig }] = Object.values(resourcesOfType(signed.service, 'AWS::CloudFront::Distribution')) as [Tree]
    const { AllowedMethods, CachePolicyId, OriginRequestPolicyId } = DistributionConfig.DefaultCacheBehavior
    expect(AllowedMethods).toEqual(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'POST', 'DELETE'])
    // AWS's own policies: Managed-CachingDisabled, Managed-AllViewerExceptHostHeader.
    expect([CachePolicyId, OriginRequestPolicyId]).toEqual(['4135ea2d-6df8-44a3-9df3-4b5a84be39ad', 'b689b0a8-53d0-40ab-baf2-68738e2966ac'])
    expect(DistributionConfig.Origins[0].OriginPath).toBeUndefined()
    const cachedErrors = DistributionConfig.CustomErrorResponses.map(({ ErrorCode, ErrorCachingMinTTL }: Tree) => [
      ErrorCode,
      ErrorCachingMinTTL,
    ])
    expect(cachedErrors).toEqual([400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504].map((status) => [status, 0]))
  })

  it('accepts TLS 1.2 and later at a custom domain and at the address of the API', () => {
    const [{ DistributionConfig }] = Object.values(resourcesOfType(production.service, 'AWS::CloudFront::Distribution')) as [Tree]
    expect(DistributionConfig.Aliases).toEqual([DOMAIN.name])
    expect(DistributionConfig.ViewerCertificate).toMatchObject({ MinimumProtocolVersion: 'TLSv1.2_2021', SslSupportMethod: 'sni-only' })
    for (const [, { service }] of stageEntries) {
      const [api] = Object.values(resourcesOfType(service, 'AWS::ApiGateway::RestApi')) as [Tree]
      expect([api.SecurityPolicy, api.EndpointAccessMode]).toEqual(['SecurityPolicy_TLS13_1_2_PQ_2025_09', 'BASIC'])
    }
  })

  it('rejects bodies that are too long for any function where clients need not use CloudFront', () => {
    const [{ Rules }] = Object.values(resourcesOfType(signed.service, 'AWS::WAFv2::WebACL')) as [Tree]
    const tooLarge = Rules.find(({ Name }: Tree) => Name === 'TooLarge')
    expect(tooLarge.Action.Block.CustomResponse).toMatchObject({
      ResponseCode: 413,
      ResponseHeaders: [
        { Name: 'Cache-Control', Value: 'no-store' },
        { Name: 'Access-Control-Allow-Origin', Value: '*' },
      ],
    })
    const { RegexString } = tooLarge.Statement.RegexMatchStatement
    // WAF takes no groups that capture: https://docs.aws.amazon.com/waf/latest/developerguide/waf-regex-pattern-support.html
    expect(RegexString).not.toMatch(/\((?!\?:)|\\[1-9]|\(\?[=!<]/)
    const larger = new RegExp(RegexString)
    const lengths = ['0', '4999999', '5000000', '5000001', '5000010', '5999999', '6000000', '9999999', '10000000', '123456789']
    expect(lengths.filter((length) => larger.test(length))).toEqual(lengths.slice(3))
  })

  const rulesOf = ({ service }: SynthesizedStacks): Tree[] =>
    Object.values(resourcesOfType(service, 'AWS::WAFv2::WebACL'))[0]!.Rules.toSorted((a: Tree, b: Tree) => a.Priority - b.Priority)
  const tooMany = (stacks: SynthesizedStacks): Tree => rulesOf(stacks).find(({ Name }) => Name === 'TooMany')

  it.each(stageEntries)('marks its own responses as not cacheable: %s', (_, { service }) => {
    for (const { ResponseParameters } of Object.values(resourcesOfType(service, 'AWS::ApiGateway::GatewayResponse')))
      expect(ResponseParameters['gatewayresponse.header.Cache-Control']).toBe("'no-store'")
    for (const { Rules } of Object.values(resourcesOfType(service, 'AWS::WAFv2::WebACL')))
      for (const { Action } of Rules)
        expect(Action.Block.CustomResponse.ResponseHeaders).toContainEqual({ Name: 'Cache-Control', Value: 'no-store' })
  })

  it.each(stageEntries)('has metrics only of methods that an alarm watches: %s', (_, { service, operation }) => {
    const [{ MethodSettings }] = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Stage')) as [Tree]
    const measured = MethodSettings.filter(({ MetricsEnabled }: Tree) => MetricsEnabled)
    const watched = Object.values(resourcesOfType(operation, 'AWS::CloudWatch::Alarm')).flatMap(({ Namespace, Dimensions }) => {
      const value = (name: string): string | undefined => Dimensions?.find(({ Name }: Tree) => Name === name)?.Value
      return Namespace === 'AWS/ApiGateway' && value('Resource') !== undefined ? [`${value('Resource')} ${value('Method')}`] : []
    })
    expect(measured.map(({ ResourcePath, HttpMethod }: Tree) => `${ResourcePath.slice(1).replaceAll('~1', '/')} ${HttpMethod}`)).toEqual(
      watched,
    )
    for (const settings of MethodSettings)
      expect(settings).toMatchObject({ DataTraceEnabled: false, ThrottlingRateLimit: 500, LoggingLevel: 'OFF' })
  })

  it('limits the requests of one address', () => {
    const [{ CustomResponseBodies, DefaultAction }] = Object.values(resourcesOfType(signed.service, 'AWS::WAFv2::WebACL')) as [Tree]
    expect(tooMany(signed)).toMatchObject({
      Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
      Statement: { RateBasedStatement: { AggregateKeyType: 'IP' } },
    })
    for (const { Content } of Object.values<Tree>(CustomResponseBodies)) expect(JSON.parse(Content).resourceType).toBe('OperationOutcome')
    expect(DefaultAction).toEqual({ Allow: {} })
  })

  describe('with tokens', () => {
    const { DistributionConfig } = Object.values(resourcesOfType(tokens.service, 'AWS::CloudFront::Distribution'))[0]!
    const [first, ...others] = rulesOf(tokens)
    const { Statements } = first.Statement.NotStatement.Statement.OrStatement
    const accepted: Tree[] = Statements.map(({ ByteMatchStatement }: Tree) => ByteMatchStatement)

    it('sends a secret that the API requires, and the previous secret stays valid', () => {
      expect(first).toMatchObject({ Name: 'NotThroughFront', Action: { Block: { CustomResponse: { ResponseCode: 403 } } } })
      const [sent] = DistributionConfig.Origins[0].OriginCustomHeaders
      expect(accepted.map(({ FieldToMatch, PositionalConstraint }) => [FieldToMatch.SingleHeader.Name, PositionalConstraint])).toEqual(
        accepted.map(() => [sent.HeaderName, 'EXACTLY']),
      )
      expect(accepted).toHaveLength(2)
      expect(accepted[0].SearchString).toEqual(sent.HeaderValue)
      expect(accepted[1].SearchString).not.toEqual(sent.HeaderValue)
      expect(others.map(({ Name }) => Name)).toEqual(['TooMany'])
    })

    it('rejects bodies that are too long for any function before the firewall, with an answer that browsers can read', () => {
      const sent = (length: string) => viewerRequest('/fhir/Patient', {}, { 'content-length': { value: length } }, viewerOfTokens)
      for (const length of ['0', '999', '4999999', '5000000']) expect(sent(length).uri).toBe('/fhir/Patient')
      for (const length of ['5000001', '10000000', '123456789']) {
        const { statusCode, headers, body } = sent(length)
        expect([statusCode, JSON.parse(body.data).issue[0].code]).toEqual([413, 'too-long'])
        expect(headers['access-control-allow-origin']).toEqual({ value: '*' })
      }
      expect(viewerRequest('/fhir/Patient', {}, {}, viewerOfTokens).uri).toBe('/fhir/Patient')
    })

    it('has secrets that no template contains', () => {
      for (const { SearchString } of accepted) expect(JSON.stringify(SearchString)).toContain('{{resolve:secretsmanager:')
      const secrets = Object.values(resourcesOfType(tokens.service, 'AWS::SecretsManager::Secret'))
      expect(secrets.map(({ GenerateSecretString }) => GenerateSecretString.PasswordLength)).toEqual([64, 64])
    })

    it('sends another secret once the firewall accepts it', () => {
      const [distribution] = Object.values<Tree>(tokens.service.Resources).filter(({ Type }) => Type === 'AWS::CloudFront::Distribution')
      expect(distribution.DependsOn.map((id: string) => tokens.service.Resources[id].Type)).toContain('AWS::WAFv2::WebACL')
    })

    it('has no limit of tokens in the size demo', () =>
      expect(rulesOf(demo).map(({ Name }) => Name)).toEqual(['NotThroughFront', 'TooMany']))

    it('limits requests by the forwarded address of the client', () =>
      expect(tooMany(tokens).Statement.RateBasedStatement).toMatchObject({
        AggregateKeyType: 'FORWARDED_IP',
        ForwardedIPConfig: { HeaderName: 'true-client-ip', FallbackBehavior: 'MATCH' },
      }))
  })

  describe('with tokens in production', () => {
    const rateOf = (name: string): Tree => rulesOf(production).find(({ Name }) => Name === name)
    const [{ CustomResponseBodies }] = Object.values(resourcesOfType(production.service, 'AWS::WAFv2::WebACL')) as [Tree]

    it.each(['TooMany', 'TooManyOfToken', 'TooManyWithoutToken'])(
      'answers 429 with an OperationOutcome that browsers can read: %s',
      (name) => {
        const { ResponseCode, CustomResponseBodyKey, ResponseHeaders } = rateOf(name).Action.Block.CustomResponse
        expect([ResponseCode, JSON.parse(CustomResponseBodies[CustomResponseBodyKey].Content).issue[0].code]).toEqual([429, 'throttled'])
        expect(ResponseHeaders).toContainEqual({ Name: 'Access-Control-Allow-Origin', Value: 'https://app.example.org' })
      },
    )

    it('limits the requests with one token, from all addresses', () =>
      expect(rateOf('TooManyOfToken').Statement).toEqual({
        RateBasedStatement: {
          Limit: 75_000,
          EvaluationWindowSec: 300,
          AggregateKeyType: 'CUSTOM_KEYS',
          CustomKeys: [{ Header: { Name: 'authorization', TextTransformations: [{ Priority: 0, Type: 'NONE' }] } }],
        },
      }))

    describe('the limit of one address without a token', () => {
      const { ScopeDownStatement, ...rate } = rateOf('TooManyWithoutToken').Statement.RateBasedStatement
      const isCounted = (method: string, path: string, headers: Readonly<Record<string, string>> = {}) =>
        fits(ScopeDownStatement, { method, path, headers })
      const pathOf = ({ path }: Route | EndpointRoute): string => `/fhir${path.replaceAll(/\{\w+\+?\}|\*/g, 'x')}`

      it('counts requests by their forwarded address', () =>
        expect(rate).toEqual({
          Limit: 1_000,
          EvaluationWindowSec: 300,
          AggregateKeyType: 'FORWARDED_IP',
          ForwardedIPConfig: { HeaderName: 'true-client-ip', FallbackBehavior: 'MATCH' },
        }))

      it('counts every request that requires a token, except preflight', () => {
        const others = ROUTES.filter(({ interaction }) => !['capabilities', 'export-file'].includes(interaction))
        expect(others.length).toBeGreaterThan(40)
        for (const route of others) {
          expect([pathOf(route), isCounted(route.method, pathOf(route))]).toEqual([pathOf(route), true])
          expect(isCounted(route.method, pathOf(route), { authorization: 'Bearer x' })).toBe(false)
          expect(isCounted('OPTIONS', pathOf(route))).toBe(false)
        }
        expect(isCounted('GET', '/fhir/Patient', { authorization: '' })).toBe(true)
        for (const path of ['/fhir/metadatas', '/fhir/Patient/metadata', '/fhir/Patient/auth', '/fhir/xwell-known/x'])
          expect([path, isCounted('GET', path)]).toEqual([path, true])
      })

      it('counts no request for metadata, discovery, logins, tokens, /health or the explorer', () => {
        for (const route of [{ method: 'GET', path: '/metadata', interaction: 'capabilities' } as const, ...ENDPOINT_ROUTES])
          expect([pathOf(route), isCounted(route.method, pathOf(route))]).toEqual([pathOf(route), false])
      })
    })
  })

  it('has no secret if requests are signed, and numbers secrets from 1', () => {
    expect(JSON.stringify(signed.service)).not.toContain('secretsmanager')
    expect(() => settingsOf({ access: 'token', originSecret: 0 })).toThrow('originSecret must be a whole number from 1 on')
  })
})
