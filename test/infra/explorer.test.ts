/** The explorer of a stage with tokens: its function, its routes, and the redirect from the root. Other stages have none. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { CLIENTS, NAVIGATIONS } from '../http/navigations.ts'
import { functionsOf, resourcesOfType, type SynthesizedStacks, type Tree } from './assembly.ts'
import { ARNS, type IamCall, isFunctionAllowed, statementsOf } from './iam.ts'
import { accessOf, demo, local, production, signed, stageEntries, tokens } from './stages.ts'

/** Most resources that the explorer may add to a template, which CloudFormation limits to 500. */
const MAX_RESOURCES = 12

const idsOf = ({ service }: SynthesizedStacks): readonly string[] => Object.keys(service.Resources).filter((id) => /explorer/i.test(id))
const pathPartsOf = ({ service }: SynthesizedStacks): readonly string[] =>
  Object.values(resourcesOfType(service, 'AWS::ApiGateway::Resource')).map(({ PathPart }) => PathPart)

describe.each(stageEntries)('a stage: %s', (_, stacks) => {
  const isWithTokens = accessOf(stacks) === 'token'

  it('has the function and the routes only with tokens', () => {
    expect(Object.keys(functionsOf(stacks.service)).includes('explorer')).toBe(isWithTokens)
    expect(pathPartsOf(stacks).includes('explorer')).toBe(isWithTokens)
    expect(idsOf(stacks).length > 0).toBe(isWithTokens)
  })

  it('has few resources for it', () => expect(idsOf(stacks).length).toBeLessThanOrEqual(MAX_RESOURCES))

  it('leads browsers from the root to the base only with tokens', () => {
    for (const accept of Object.values(NAVIGATIONS)) expect(viewed(stacks, '/', accept).statusCode).toBe(isWithTokens ? 303 : 404)
  })
})

describe('the deployment', () => {
  it('prints the address of the explorer, and one command that adds its first user', () => {
    const outputOf = ({ service }: SynthesizedStacks, name: string): string | undefined => service.Outputs[name]?.Value
    expect(outputOf(production, 'ExplorerUrl')).toBe('https://fhir.example.org/fhir/explorer')
    expect(JSON.stringify(demo.service.Outputs.ExplorerUrl.Value)).toMatch(/DomainName.*\/fhir\/explorer/)
    const command = outputOf(demo, 'FirstUser')!
    for (const path of ['lib/docs/deploy.md', 'lambdas/docs/explorer.md']) expect(readFileSync(path, 'utf8')).toContain(`${command}\n`)
    expect(outputOf(tokens, 'FirstUser')).toContain(" --tenant '*'")
    for (const stage of [signed, local])
      expect([outputOf(stage, 'ExplorerUrl'), outputOf(stage, 'FirstUser')]).toEqual([undefined, undefined])
    const folder = newFolder()
    const run = (line: string): string =>
      spawnSync(line.replace('npm run fhir --', `${process.execPath} bin/fhir.js`).replace('--stage dev', `--data ${folder}`), {
        shell: true,
        encoding: 'utf8',
        input: 'correct horse battery\n',
      }).stdout
    expect(run(command)).toBe('The user me is added\n')
    expect(JSON.parse(run('npm run fhir -- user list --json --stage dev'))).toMatchObject({
      ...{ name: 'me', fhirUser: 'Practitioner/me', scopes: ['user/*.cruds', 'system/admin'], tenants: ['default'] },
    })
  })
})

describe('the function', () => {
  it('may write its log, and nothing else', () => {
    expect(statementsOf(tokens.service, 'explorer')).toEqual([
      { Effect: 'Allow', Action: ['logs:CreateLogStream', 'logs:PutLogEvents'], Resource: expect.stringMatching(/:ExplorerLog$/) },
    ])
    const calls: readonly IamCall[] = [
      { action: 'dynamodb:GetItem', resource: ARNS.ResourceTable },
      { action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: { 'dynamodb:LeadingKeys': ['CLIENTS'] } },
      { action: 's3:GetObject', resource: `${ARNS.DataBucket}/bodies/x` },
      { action: 'kms:Decrypt', resource: ARNS.Key },
      { action: 'es:ESHttpGet', resource: `${ARNS.SearchDomain}/fhir-patient-v1/_search` },
    ]
    for (const call of calls) expect([call.action, isFunctionAllowed(tokens.service, 'explorer', call)]).toEqual([call.action, false])
  })

  it('knows no table, bucket or key', () => {
    const { Environment, VpcConfig } = functionsOf(tokens.service).explorer!
    expect([Object.keys(Environment.Variables).filter((name) => /TABLE|BUCKET|KEY|WORKFLOW|ENDPOINT/.test(name)), VpcConfig]).toEqual([
      [],
      undefined,
    ])
  })

  it('answers GET of its two paths, and the fallback every other method', () => {
    const methods = Object.entries<Tree>(tokens.service.Resources).filter(
      ([id, { Type }]) => Type === 'AWS::ApiGateway::Method' && /^Apiexplorer/.test(id),
    )
    const answering = methods.filter(([, each]) => JSON.stringify(each.Properties.Integration).includes('ExplorerFunction'))
    expect(answering.map(([, { Properties }]) => Properties.HttpMethod)).toEqual(['GET', 'GET'])
    expect(methods.map(([, { Properties }]) => Properties.HttpMethod).toSorted()).toEqual(['ANY', 'ANY', 'GET', 'GET'])
  })
})

describe('the root', () => {
  it('leads a navigation to the base, by a redirect that no cache stores', () => {
    for (const accept of Object.values(NAVIGATIONS)) {
      expect(viewed(tokens, '/', accept)).toEqual({
        statusCode: 303,
        headers: { location: { value: '/fhir/' }, 'cache-control': { value: 'no-store' }, vary: { value: 'Accept' } },
      })
    }
  })

  it.each(Object.entries(CLIENTS))('is answered 404 to %s', (name, accept) => {
    const { statusCode } = viewed(tokens, '/', accept)
    expect([name, statusCode]).toEqual([name, 404])
  })

  it.each(['HEAD', 'POST', 'OPTIONS'])('is answered 404 to %s', (method) =>
    expect(viewed(tokens, '/', NAVIGATIONS.Chrome, method).statusCode).toBe(404),
  )

  it.each(['//', '//evil.example', '/index.html', '/favicon.ico', '/explorer', '/fhirs/', '/%2e%2e/'])(
    'is the only path that is redirected: %s',
    (uri) => expect(viewed(tokens, uri, NAVIGATIONS.Chrome).statusCode).toBe(404),
  )

  it('leads nowhere else: paths below the base reach the API unchanged', () => {
    for (const uri of ['/fhir', '/fhir/', '/fhir/explorer', '/fhir/Patient/1', '/fhir//evil.example'])
      expect(viewed(tokens, uri, NAVIGATIONS.Chrome).uri).toBe(uri)
  })
})

/** Returns what the viewer function makes of a request: a request for the API, or a response. */
function viewed({ service }: SynthesizedStacks, uri: string, accept: string | undefined, method = 'GET'): Tree {
  const [, { FunctionCode }] = Object.entries(resourcesOfType(service, 'AWS::CloudFront::Function')).find(([id]) => id.startsWith('Front'))!
  const headers = accept === undefined ? {} : { accept: { value: accept } }
  const event = { request: { method, uri, querystring: {}, headers }, viewer: { ip: '192.0.2.1' } }
  // The result comes from another realm, so that its objects equal those of the test only as JSON.
  return JSON.parse(JSON.stringify(runInNewContext(`${FunctionCode}; handler(event)`, { event })))
}
