/** What the template of the API says, read as API Gateway reads it: which function answers which route, and how its own errors look. */
import type { Tree } from './aws-calls.ts'

type Node = {
  readonly id: string
  readonly path: string
  readonly statics: Map<string, Node>
  variable?: { readonly name: string; readonly node: Node; readonly isGreedy: boolean }
}

export type Match = {
  /** The path of the route: `/{type}/{id}`. */
  readonly resource: string
  readonly pathParameters: Readonly<Record<string, string>> | null
  /** Logical id of the function; undefined when the route has no such method. */
  readonly functionOf: (method: string) => string | undefined
}

export type GatewayResponse = {
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** By content type. */
  readonly templates: Readonly<Record<string, string>>
}

export type ApiTemplate = {
  readonly match: (path: string) => Match | undefined
  /** By type: MISSING_AUTHENTICATION_TOKEN. */
  readonly responses: Readonly<Record<string, GatewayResponse>>
  readonly binaryMediaTypes: readonly string[]
  /** Bytes from which responses are compressed; undefined: none is. */
  readonly minimumCompressionSize?: number
}

export function apiTemplate(template: Tree): ApiTemplate {
  const resources = Object.entries<Tree>(template.Resources)
  const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type)
  const [, api] = ofType('AWS::ApiGateway::RestApi')[0]!
  const methods = new Map<string, string>()
  for (const [, { Properties }] of ofType('AWS::ApiGateway::Method')) {
    const target = functionIn(Properties.Integration?.Uri)
    if (target !== undefined) methods.set(`${idOf(Properties.ResourceId)} ${Properties.HttpMethod}`, target)
  }
  const root = tree(ofType('AWS::ApiGateway::Resource'))
  return {
    match: (path) => match(root, methods, path),
    responses: Object.fromEntries(
      ofType('AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => [Properties.ResponseType, response(Properties)]),
    ),
    binaryMediaTypes: api.Properties.BinaryMediaTypes ?? [],
    minimumCompressionSize: api.Properties.MinimumCompressionSize,
  }
}

const ROOT = 'root'
const idOf = (reference: Tree): string => reference.Ref ?? ROOT

/** The function whose ARN stands in it. */
function functionIn(uri: Tree): string | undefined {
  const found = /"Fn::GetAtt":\["([^"]+)","Arn"\]/.exec(JSON.stringify(uri ?? null))
  return found?.[1]
}

function tree(resources: readonly (readonly [string, Tree])[]): Node {
  const root: Node = { id: ROOT, path: '', statics: new Map() }
  const grow = (parent: Node): void => {
    for (const [id, { Properties }] of resources) {
      if (idOf(Properties.ParentId) !== parent.id) continue
      const part: string = Properties.PathPart
      const node: Node = { id, path: `${parent.path}/${part}`, statics: new Map() }
      const [, name, greedy] = /^\{(\w+)(\+?)\}$/.exec(part) ?? []
      if (name === undefined) parent.statics.set(part, node)
      else parent.variable = { name, node, isGreedy: greedy === '+' }
      grow(node)
    }
  }
  grow(root)
  return root
}

/** A static part wins, also where it leads nowhere: whether the gateway would then turn back is not documented. */
function match(root: Node, methods: ReadonlyMap<string, string>, path: string): Match | undefined {
  const pathParameters: Record<string, string> = {}
  const all = path.split('/').slice(1)
  const parts = all.filter((part, i) => part !== '' || i < all.length - 1).map(decodeURIComponent)
  let node: Node = root
  for (const [i, part] of parts.entries()) {
    const { statics, variable } = node
    const next = statics.get(part) ?? variable?.node
    if (next === undefined) return undefined
    const isGreedy = !statics.has(part) && variable!.isGreedy
    if (!statics.has(part)) pathParameters[variable!.name] = isGreedy ? parts.slice(i).join('/') : part
    node = next
    if (isGreedy) break
  }
  const { id, path: resource } = node
  return {
    resource: resource || '/',
    pathParameters: Object.keys(pathParameters).length === 0 ? null : pathParameters,
    functionOf: (method) => methods.get(`${id} ${method}`) ?? methods.get(`${id} ANY`),
  }
}

const HEADER = 'gatewayresponse.header.'

function response({ StatusCode, ResponseParameters = {}, ResponseTemplates = {} }: Tree): GatewayResponse {
  const headers = Object.entries<string>(ResponseParameters)
    .filter(([name]) => name.startsWith(HEADER))
    .map(([name, value]) => [name.slice(HEADER.length), value.replace(/^'|'$/g, '')])
  return {
    ...(StatusCode === undefined ? {} : { status: Number(StatusCode) }),
    headers: Object.fromEntries(headers),
    templates: ResponseTemplates,
  }
}
