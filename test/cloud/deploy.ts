/**
 * Puts a synthesized cloud assembly on a stand-in for AWS: assets where the templates look for them, then the stacks in their order.
 * What `cdk deploy` does, in the few calls it takes. https://docs.aws.amazon.com/cdk/v2/guide/deploy.html
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { zipSync } from 'fflate'
import type { AwsCalls, Tree } from './aws-calls.ts'

/** By name of the stack. */
export type Outputs = Readonly<Record<string, Readonly<Record<string, string>>>>

/** By name of the stack; whole, also where something of it was left out. */
type Templates = Readonly<Record<string, Tree>>

export type Deployment = {
  readonly outputs: Outputs
  readonly templates: Templates
  /** Logical id → physical id. */
  readonly resources: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const BOOTSTRAP = { name: '/cdk-bootstrap/hnb659fds/version', version: '30' }
const ACCOUNT = '000000000000'
const TEMPLATES = 'templates'
const PATIENCE = 120_000

/** What MiniStack does not take; each left out is told to `report`. What refers to one is given its logical id. */
const LEFT_OUT: readonly { readonly type: string; readonly when?: (properties: Tree) => boolean; readonly reason: string }[] = [
  { type: 'AWS::WAFv2::WebACLAssociation', reason: 'not known' },
  { type: 'AWS::CloudFront::PublicKey', reason: 'not known' },
  { type: 'AWS::CloudFront::KeyGroup', reason: 'not known' },
  { type: 'AWS::CloudWatch::Alarm', when: ({ Metrics }) => Metrics !== undefined, reason: 'no alarms on metric math' },
]

export type DeployOptions = {
  readonly report: (line: string) => void
  /** Environment variables every function gets besides those of the template: settings of the service. */
  readonly variables?: Readonly<Record<string, string>>
  /** Resource types that are left out besides what is not known: what would call the functions by itself. */
  readonly without?: readonly string[]
  /** Whether somebody else runs the functions: then they have no code there. */
  readonly isWithoutCode?: boolean
  /** Whether the stacks are there already: then they are changed. */
  readonly isUpdate?: boolean
}

export async function deploy(
  aws: AwsCalls,
  assembly: string,
  { report, variables = {}, without = [], isWithoutCode = false, isUpdate = false }: DeployOptions,
): Promise<Deployment> {
  const manifest: Tree = readJson(join(assembly, 'manifest.json'))
  await aws.json('ssm', 'AmazonSSM.PutParameter', { Name: BOOTSTRAP.name, Value: BOOTSTRAP.version, Type: 'String', Overwrite: true })
  const templates: Record<string, Tree> = {}
  const outputs: Record<string, Readonly<Record<string, string>>> = {}
  const resources: Record<string, Readonly<Record<string, string>>> = {}
  for (const stack of inOrder(manifest.artifacts)) {
    await putAssets(aws, assembly, stack, isWithoutCode)
    const whole: Tree = readJson(join(assembly, `${stack}.template.json`))
    templates[stack] = withVariables(whole, variables)
    outputs[stack] = await put(aws, stack, takable(templates[stack], without, report), isUpdate)
    resources[stack] = await resourcesOf(aws, stack)
  }
  return { outputs, templates, resources }
}

export const readJson = (path: string): Tree => JSON.parse(readFileSync(path, 'utf8'))

type Artifact = { readonly type: string; readonly dependencies?: readonly string[] }

/** A stack stands behind those it depends on. */
function inOrder(artifacts: Readonly<Record<string, Artifact>>): readonly string[] {
  const stacks = Object.keys(artifacts).filter((name) => artifacts[name]!.type === 'aws:cloudformation:stack')
  const ordered: string[] = []
  const visit = (name: string): void => {
    if (!stacks.includes(name) || ordered.includes(name)) return
    for (const before of artifacts[name]!.dependencies ?? []) visit(before)
    ordered.push(name)
  }
  for (const name of stacks) visit(name)
  return ordered
}

async function putAssets(aws: AwsCalls, assembly: string, stack: string, isWithoutCode: boolean): Promise<void> {
  const { files }: Tree = readJson(join(assembly, `${stack}.assets.json`))
  for (const { source, destinations } of Object.values<Tree>(files)) {
    const path = join(assembly, source.path)
    const bytes = source.packaging !== 'zip' ? new Uint8Array(readFileSync(path)) : isWithoutCode ? NO_CODE : zipOf(path)
    for (const { bucketName, objectKey } of Object.values<Tree>(destinations)) {
      const bucket = bucketName.replace(/\$\{AWS::AccountId\}/g, ACCOUNT).replace(/\$\{AWS::Region\}/g, 'us-east-1')
      await aws.send('s3', 'PUT', `/${bucket}`)
      await aws.send('s3', 'PUT', `/${bucket}/${objectKey}`, bytes)
    }
  }
}

const NO_CODE = zipSync({ 'none.js': new Uint8Array() })

/** By the names of assets, which say what is in them. */
const ZIPS = new Map<string, Uint8Array<ArrayBuffer>>()

function zipOf(folder: string): Uint8Array<ArrayBuffer> {
  const cached = ZIPS.get(basename(folder))
  if (cached !== undefined) return cached
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile())
  const zip = zipSync(Object.fromEntries(files.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))])), { level: 1 })
  ZIPS.set(basename(folder), zip)
  return zip
}

function takable(template: Tree, without: readonly string[], report: (line: string) => void): Tree {
  const resources = Object.entries<Tree>(template.Resources).filter(([name, { Type, Properties }]) => {
    const entry = LEFT_OUT.find(({ type, when }) => type === Type && (when === undefined || when(Properties)))
    if (entry !== undefined) report(`left out: ${name}, ${Type}: ${entry.reason}`)
    return entry === undefined && !without.includes(Type)
  })
  const names = new Set(resources.map(([name]) => name))
  const selected = resources.map(([name, { DependsOn, ...resource }]) => [name, { ...resource, DependsOn: remaining(DependsOn, names) }])
  return named({ ...template, Resources: Object.fromEntries(selected) }, (id) => Object.hasOwn(template.Resources, id) && !names.has(id))
}

/** References to what is left out become its logical id. */
function named(tree: Tree, isLeftOut: (id: string) => boolean): Tree {
  if (typeof tree !== 'object' || tree === null) return tree
  if (Array.isArray(tree)) return tree.map((each) => named(each, isLeftOut))
  if (typeof tree.Ref === 'string' && isLeftOut(tree.Ref)) return tree.Ref
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, named(value, isLeftOut)]))
}

/** Nothing waits for what is not there. */
const remaining = (dependsOn: Tree, names: ReadonlySet<string>): readonly string[] | undefined =>
  dependsOn === undefined ? undefined : [dependsOn].flat().filter((name: string) => names.has(name))

function withVariables(template: Tree, variables: Readonly<Record<string, string>>): Tree {
  for (const { Type, Properties } of Object.values<Tree>(template.Resources)) {
    if (Type === 'AWS::Lambda::Function') Object.assign(Properties.Environment.Variables, variables)
  }
  return template
}

async function put(aws: AwsCalls, stack: string, template: Tree, isUpdate: boolean): Promise<Readonly<Record<string, string>>> {
  const form = { StackName: stack, Version: '2010-05-15' }
  // A template of this size is not taken in the request itself.
  const path = `/${TEMPLATES}/${stack}.json`
  await aws.send('s3', 'PUT', `/${TEMPLATES}`)
  await aws.send('s3', 'PUT', path, JSON.stringify(template))
  const parameters = { ...form, TemplateURL: aws.endpoint + path, 'Capabilities.member.1': 'CAPABILITY_NAMED_IAM' }
  const kind = isUpdate ? 'UPDATE' : 'CREATE'
  await aws.query('cloudformation', { ...parameters, Action: isUpdate ? 'UpdateStack' : 'CreateStack' }).catch((error: Error) => {
    if (!error.message.includes(UNCHANGED)) throw error
  })
  for (let waited = 0; waited < PATIENCE; waited += 200) {
    const described = await aws.query('cloudformation', { ...form, Action: 'DescribeStacks' })
    const status = tag(described, 'StackStatus')
    if (status === `${kind}_COMPLETE` || status === 'CREATE_COMPLETE') return outputsOf(described)
    if (!status?.startsWith(`${kind}_`) || !status.endsWith('_IN_PROGRESS'))
      throw new Error(`${stack}: ${status}\n${await failures(aws, stack)}`)
    await sleep(200)
  }
  throw new Error(`${stack} was not deployed in ${PATIENCE} ms`)
}

const UNCHANGED = 'No updates are to be performed'

async function failures(aws: AwsCalls, stack: string): Promise<string> {
  const events = await aws.query('cloudformation', { StackName: stack, Version: '2010-05-15', Action: 'DescribeStackEvents' })
  return members(events, 'StackEvents')
    .filter((event) => /FAILED/.test(tag(event, 'ResourceStatus') ?? ''))
    .map((event) => `${tag(event, 'LogicalResourceId')} (${tag(event, 'ResourceType')}): ${tag(event, 'ResourceStatusReason')}`)
    .join('\n')
}

const outputsOf = (described: string): Readonly<Record<string, string>> =>
  Object.fromEntries(members(described, 'Outputs').map((member) => [tag(member, 'OutputKey')!, tag(member, 'OutputValue')!]))

async function resourcesOf(aws: AwsCalls, stack: string): Promise<Readonly<Record<string, string>>> {
  const described = await aws.query('cloudformation', { StackName: stack, Version: '2010-05-15', Action: 'DescribeStackResources' })
  const all = members(described, 'StackResources')
  return Object.fromEntries(all.map((member) => [tag(member, 'LogicalResourceId')!, tag(member, 'PhysicalResourceId') ?? '']))
}

function members(xml: string, list: string): readonly string[] {
  const inside = new RegExp(`<${list}>(.*)</${list}>`, 's').exec(xml)?.[1] ?? ''
  return [...inside.matchAll(/<member>(.*?)<\/member>/gs)].map(([, member]) => member!)
}

function tag(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text?.replace(/&(lt|gt|quot|#39|amp);/g, (_, entity: keyof typeof ENTITIES) => ENTITIES[entity])
}

const ENTITIES = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
