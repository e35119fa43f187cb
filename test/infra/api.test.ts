/** API Gateway of a stage: methods and authorization. */
import { describe, expect, it } from '@jest/globals'
import { ENDPOINT_ROUTES, type EndpointRoute, isHeadAllowed, ROUTES, type Route } from '../../lambdas/catalogue/catalogue.ts'
import { functionOf } from '../../lambdas/functions/functions.ts'
import { MIN_GZIP_BYTES } from '../../lambdas/http/response-compression.ts'
import { settingsOf } from '../../lib/settings/settings.ts'
import { resourcesOfType, type Tree } from './assembly.ts'
import { local, production, signed, tokens } from './stages.ts'

describe('the API', () => {
  const { service } = signed
  const served: readonly (readonly [string, ReturnType<typeof routesOf>, readonly (Route | EndpointRoute)[]])[] = [
    ['with signatures', routesOf(service), [...ROUTES, ...ENDPOINT_ROUTES.filter(({ interaction }) => interaction === 'health')]],
    ['with tokens', routesOf(tokens.service), [...ROUTES, ...ENDPOINT_ROUTES]],
  ]

  it.each(served)('has the methods of every route except files, and HEAD for safe GET routes: %s', (_, api, routes) => {
    expect(api.filter(({ path }) => path.startsWith('/export-files'))).toEqual([])
    for (const route of routes.filter(({ interaction }) => interaction !== 'export-file')) {
      const { method, path, interaction } = route
      const found = api.filter((each) => fitsRoute(each.path, path))
      expect([path, found.length]).toEqual([path, 1])
      for (const wanted of isHeadAllowed(route) ? [method, 'HEAD'] : [method]) {
        expect([path, wanted, found[0]!.methods.get(wanted)]).toEqual([path, wanted, functionOf(interaction)])
      }
    }
  })

  it.each(served)('has no other methods except the fallback: %s', (_, api, routes) => {
    for (const { path, methods } of api.filter(({ methods }) => methods.size > 0)) {
      const wanted = routes
        .filter((route) => fitsRoute(path, route.path))
        .flatMap((route) => (isHeadAllowed(route) ? ['GET', 'HEAD'] : [route.method]))
      // With tokens, ANY includes OPTIONS.
      const fallbacks = routes.includes(ENDPOINT_ROUTES[0]!) ? ['ANY'] : ['ANY', 'OPTIONS']
      expect([path, [...methods.keys()].sort()]).toEqual([path, [...new Set([...wanted, ...fallbacks])].sort()])
      for (const method of fallbacks) expect([path, method, methods.get(method)]).toEqual([path, method, 'fallback'])
    }
  })

  it.each(served)('has a method at every level, so that static parts hide no variables: %s', (_, api) =>
    expect(api.filter(({ methods }) => methods.size === 0).map(({ path }) => path)).toEqual([]),
  )

  it('compresses responses of the size from which the embedded server does', () => {
    const [api] = Object.values(resourcesOfType(service, 'AWS::ApiGateway::RestApi'))
    expect(api?.MinimumCompressionSize).toBe(MIN_GZIP_BYTES)
  })

  it('requires signed requests, except for CORS preflight and for the health', () => {
    const open = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Method')).filter(
      ({ AuthorizationType, HttpMethod }) => AuthorizationType !== 'AWS_IAM' && HttpMethod !== 'OPTIONS',
    )
    const [id] = Object.entries(resourcesOfType(service, 'AWS::ApiGateway::Resource')).find(([, { PathPart }]) => PathPart === 'health')!
    expect(open.map(({ ResourceId, HttpMethod }) => [ResourceId.Ref, HttpMethod])).toEqual([
      [id, 'GET'],
      [id, 'HEAD'],
    ])
  })

  it('is open on one machine only, never in an AWS account', () => {
    expect(() => settingsOf({ access: 'open', account: '111111111111' })).toThrow('access "open" allows every request without a token')
    expect(JSON.stringify(local)).toContain('000000000000')
    const methods = Object.values(resourcesOfType(local.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('passes the access mode to every function, and no setting overrides it', () => {
    const access = (template: Tree): readonly unknown[] =>
      Object.values(resourcesOfType(template, 'AWS::Lambda::Function'))
        .map(({ Environment }) => Environment?.Variables.FHIR_ACCESS)
        .filter((value) => value !== undefined)
    expect(new Set(access(service))).toEqual(new Set(['iam']))
    expect(new Set(access(local.service))).toEqual(new Set(['open']))
    expect(new Set(access(tokens.service))).toEqual(new Set(['token']))
    expect(() => settingsOf({ service: { access: 'open' } })).toThrow('"access" must be set outside "service"')
    expect(() => settingsOf({ access: 'iam', service: { tenancy: 'on' } })).toThrow('tenancy "on" is not possible with access "iam"')
  })

  it('has every path below the authorization server, also those without an endpoint', () => {
    const api = routesOf(tokens.service)
    for (const path of ['/auth', '/auth/{proxy+}', '/.well-known', '/.well-known/{proxy+}'])
      expect([path, [...(api.find((each) => each.path === path)?.methods.values() ?? [])]]).toEqual([path, ['fallback']])
    expect(routesOf(service).filter(({ path }) => /^\/(?:auth|\.well-known)/.test(path))).toEqual([])
  })

  it('accepts unsigned requests if functions require tokens', () => {
    const methods = Object.values(resourcesOfType(tokens.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('has a stage named like the path of the server', () => {
    const [stage] = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Stage'))
    expect(stage).toMatchObject({
      StageName: 'fhir',
      MethodSettings: [{ DataTraceEnabled: false, LoggingLevel: 'OFF' }],
    })
  })

  it('logs neither paths nor queries nor addresses', () => {
    const [{ AccessLogSetting }] = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Stage')) as [Tree]
    const used = [...String(AccessLogSetting.Format).matchAll(/\$context\.([\w.]+)/g)].map(([, name]) => name)
    expect(used.filter((name) => /^(?:path|identity|authorizer|customDomain|requestOverride)/.test(name!))).toEqual([])
    expect(used).toContain('resourcePath')
  })

  it.each([
    ['MISSING_AUTHENTICATION_TOKEN', '401'],
    ['UNAUTHORIZED', '401'],
    ['ACCESS_DENIED', '403'],
    ['REQUEST_TOO_LARGE', '413'],
    ['THROTTLED', '429'],
    ['INTEGRATION_TIMEOUT', '504'],
    ['DEFAULT_4XX', undefined],
    ['DEFAULT_5XX', undefined],
  ])('answers %s with an OperationOutcome and %s', (type, status) => {
    const answer = Object.values(resourcesOfType(service, 'AWS::ApiGateway::GatewayResponse')).find(
      ({ ResponseType }) => ResponseType === type,
    )
    expect(answer.StatusCode).toBe(status)
    const [text] = Object.values<string>(answer.ResponseTemplates)
    expect(JSON.parse(text!)).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', details: { text: expect.anything() } }],
    })
    expect(answer.ResponseParameters).toMatchObject({
      'gatewayresponse.header.Content-Type': "'application/fhir+json; charset=utf-8'",
      'gatewayresponse.header.Cache-Control': "'no-store'",
      'gatewayresponse.header.Access-Control-Allow-Origin': "'*'",
    })
  })

  it('returns 404 for an unknown path if requests need no signature', () => {
    const answers = Object.values(resourcesOfType(local.service, 'AWS::ApiGateway::GatewayResponse'))
    expect(answers.find(({ ResponseType }) => ResponseType === 'MISSING_AUTHENTICATION_TOKEN').StatusCode).toBe('404')
  })

  it('names the allowed origin in its own errors', () => {
    const [answer] = Object.values(resourcesOfType(production.service, 'AWS::ApiGateway::GatewayResponse'))
    expect(answer!.ResponseParameters['gatewayresponse.header.Access-Control-Allow-Origin']).toBe("'https://app.example.org'")
  })
})

/** Path → methods → function. */
function routesOf(service: Tree): readonly { readonly path: string; readonly methods: ReadonlyMap<string, string> }[] {
  const resources = resourcesOfType(service, 'AWS::ApiGateway::Resource')
  const handlers = Object.fromEntries(
    Object.entries(resourcesOfType(service, 'AWS::Lambda::Function')).map(([id, { Handler }]) => [id, Handler]),
  )
  const pathOf = (id: string): string =>
    resources[id] === undefined ? '' : `${pathOf(resources[id].ParentId.Ref ?? '')}/${resources[id].PathPart}`
  return ['', ...Object.keys(resources)].map((id) => {
    const methods = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Method')).filter(
      ({ ResourceId }) => (ResourceId.Ref ?? '') === id,
    )
    const target = ({ Integration }: Tree): string => {
      const [, functionId] = /"Fn::GetAtt":\["(\w+)","Arn"\]/.exec(JSON.stringify(Integration.Uri))!
      return handlers[functionId!]!.replace(/\.handler$/, '')
    }
    return { path: pathOf(id) || '/', methods: new Map(methods.map((method) => [method.HttpMethod as string, target(method)])) }
  })
}

/** Variables may have any name, `*` replaces a variable. */
const fitsRoute = (path: string, route: string): boolean => shapeOf(path) === shapeOf(route)
const shapeOf = (path: string): string => path.replace(/\{\w+\}|\*/g, '{}')
