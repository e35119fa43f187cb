/** API Gateway of a stage: methods and authorization. */
import { describe, expect, it } from '@jest/globals'
import { AUTH_ROUTES, type AuthRoute, isHeadAllowed, ROUTES, type Route } from '../../lambdas/catalogue/routes.ts'
import { functionOf } from '../../lambdas/functions/functions.ts'
import { settingsOf } from '../../lib/settings/settings.ts'
import { resourcesOfType, type Tree } from './assembly.ts'
import { local, production, signed, tokens } from './stages.ts'

describe('the API', () => {
  const { service } = signed
  const served: readonly (readonly [string, ReturnType<typeof routesOf>, readonly (Route | AuthRoute)[]])[] = [
    ['with signatures', routesOf(service), ROUTES],
    ['with tokens', routesOf(tokens.service), [...ROUTES, ...AUTH_ROUTES]],
  ]

  it.each(served)('has the method of every route but that of files, and HEAD with every GET that begins nothing: %s', (_, api, routes) => {
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

  it.each(served)('has no other methods, but the fallback for all that is left: %s', (_, api, routes) => {
    for (const { path, methods } of api.filter(({ methods }) => methods.size > 0)) {
      const wanted = routes
        .filter((route) => fitsRoute(path, route.path))
        .flatMap((route) => (isHeadAllowed(route) ? ['GET', 'HEAD'] : [route.method]))
      expect([path, [...methods.keys()].sort()]).toEqual([path, [...new Set([...wanted, 'ANY', 'OPTIONS'])].sort()])
      expect([methods.get('ANY'), methods.get('OPTIONS')]).toEqual(['fallback', 'fallback'])
    }
  })

  it.each(served)('answers something at every level, so that a static part with parts below never hides a variable one: %s', (_, api) =>
    expect(api.filter(({ methods }) => methods.size === 0).map(({ path }) => path)).toEqual([]),
  )

  it('wants signed requests, but of browsers that ask whether they may', () => {
    const open = Object.values(resourcesOfType(service, 'AWS::ApiGateway::Method')).filter(
      ({ AuthorizationType }) => AuthorizationType !== 'AWS_IAM',
    )
    expect(new Set(open.map(({ HttpMethod }) => HttpMethod))).toEqual(new Set(['OPTIONS']))
  })

  it('is open on one machine only: an account refuses it, and what is synthesized goes into no other than that of stand-ins', () => {
    expect(() => settingsOf({ access: 'open', account: '111111111111' })).toThrow('access "open" lets anybody do anything')
    expect(JSON.stringify(local)).toContain('000000000000')
    const methods = Object.values(resourcesOfType(local.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('tells every function who is let in, so that none that is updated alone, or rolled back, lets in others', () => {
    const access = (template: Tree): readonly unknown[] =>
      Object.values(resourcesOfType(template, 'AWS::Lambda::Function'))
        .map(({ Environment }) => Environment?.Variables.FHIR_ACCESS)
        .filter((value) => value !== undefined)
    expect(new Set(access(service))).toEqual(new Set(['iam']))
    expect(new Set(access(local.service))).toEqual(new Set(['open']))
    expect(new Set(access(tokens.service))).toEqual(new Set(['token']))
    expect(() => settingsOf({ service: { access: 'open' } })).toThrow('"access" stands beside "service"')
    expect(() => settingsOf({ access: 'iam', service: { tenancy: 'on' } })).toThrow('tenancy "on" is not possible with access "iam"')
  })

  it('knows every path below the authorization server, also what is none of its endpoints', () => {
    const api = routesOf(tokens.service)
    for (const path of ['/auth', '/auth/{proxy+}', '/.well-known', '/.well-known/{proxy+}'])
      expect([path, [...(api.find((each) => each.path === path)?.methods.values() ?? [])]]).toEqual([path, ['fallback', 'fallback']])
    expect(routesOf(service).filter(({ path }) => /^\/(?:auth|\.well-known)/.test(path))).toEqual([])
  })

  it('lets in requests without a signature where functions want tokens', () => {
    const methods = Object.values(resourcesOfType(tokens.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('has a stage that is called as the path of the server', () => {
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

  it('does not know a path it does not know, where requests need no signature', () => {
    const answers = Object.values(resourcesOfType(local.service, 'AWS::ApiGateway::GatewayResponse'))
    expect(answers.find(({ ResponseType }) => ResponseType === 'MISSING_AUTHENTICATION_TOKEN').StatusCode).toBe('404')
  })

  it('names the one origin that is allowed in its own errors', () => {
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

/** Variables may have any name, `*` stands where a variable does. */
const fitsRoute = (path: string, route: string): boolean => shapeOf(path) === shapeOf(route)
const shapeOf = (path: string): string => path.replace(/\{\w+\}|\*/g, '{}')
