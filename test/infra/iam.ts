/**
 * Whether the role of a function in a template allows a call. Evaluates identity policies as IAM does, and throws for elements that it does not
 * support. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */

export type IamCall = {
  /** `dynamodb:PutItem` */
  readonly action: string
  /** ARN of the resource. ARNS contains those of the stacks. */
  readonly resource: string
  /** Condition keys: `{ 'dynamodb:LeadingKeys': ['SEAL'] }`. */
  readonly context?: IamContext
}

export type IamContext = Readonly<Record<string, string | readonly string[]>>

export type Statement = {
  readonly Effect: string
  readonly Action?: unknown
  readonly Resource?: unknown
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly [other: string]: unknown
}

type Resource = { readonly Type: string; readonly Properties?: Readonly<Record<string, unknown>> }
export type Template = { readonly Resources: Readonly<Record<string, Resource>> }

const LOCATION = 'us-east-1:000000000000'

/** ARNs by the prefix of the logical ids. */
export const ARNS = {
  ResourceTable: `arn:aws:dynamodb:${LOCATION}:table/ResourceTable`,
  StateTable: `arn:aws:dynamodb:${LOCATION}:table/StateTable`,
  DataBucket: 'arn:aws:s3:::DataBucket',
  AuditBucket: 'arn:aws:s3:::AuditBucket',
  SearchDomain: `arn:aws:es:${LOCATION}:domain/SearchDomain`,
  Key: `arn:aws:kms:${LOCATION}:key/Key`,
  RebuildMachine: `arn:aws:states:${LOCATION}:stateMachine:RebuildMachine`,
  ExportingMachine: `arn:aws:states:${LOCATION}:stateMachine:ExportingMachine`,
  ExportsBucket: 'arn:aws:s3:::ExportsBucket',
  ExportsLinkKey1: `arn:aws:kms:${LOCATION}:key/ExportsLinkKey1`,
  ExportsLinkKey2: `arn:aws:kms:${LOCATION}:key/ExportsLinkKey2`,
} as const

export const isFunctionAllowed = (template: Template, functionName: string, call: IamCall): boolean =>
  isAllowed(statementsOf(template, functionName), call)

/** A denial overrides every permission. A call that no statement allows is denied. */
export function isAllowed(statements: readonly Statement[], call: IamCall): boolean {
  const fitting = statements.filter((statement) => fits(statement, call))
  return fitting.some(({ Effect }) => Effect === 'Allow') && !fitting.some(({ Effect }) => Effect === 'Deny')
}

/** Returns the statements of the role of the function, with ARNs as in ARNS. */
export function statementsOf({ Resources }: Template, functionName: string): readonly Statement[] {
  const all = Object.entries(Resources)
  const found = all.find(
    ([, { Type, Properties }]) => Type === 'AWS::Lambda::Function' && Properties?.Handler === `${functionName}.handler`,
  )
  if (found === undefined) throw new Error(`no function ${functionName}`)
  const roleId = logicalIdOf(found[1].Properties!.Role)
  const { Policies = [] } = Resources[roleId]!.Properties as { readonly Policies?: readonly Policy[] }
  const attached = all.flatMap(([, { Type, Properties }]) =>
    Type === 'AWS::IAM::Policy' && listOf(Properties!.Roles).some((role) => logicalIdOf(role) === roleId)
      ? [Properties as unknown as Policy]
      : [],
  )
  return [...Policies, ...attached].flatMap(({ PolicyDocument }) => resolved(PolicyDocument.Statement) as readonly Statement[])
}

type Policy = { readonly PolicyDocument: { readonly Statement: unknown } }

function fits({ Effect, Action, Resource, Condition = {}, ...others }: Statement, { action, resource, context = {} }: IamCall): boolean {
  const unknown = Object.keys(others).find((name) => name !== 'Sid')
  if (unknown !== undefined || !['Allow', 'Deny'].includes(Effect)) throw new Error(`not known here: ${unknown ?? Effect}`)
  return (
    listOf(Action).some((pattern) => isLike(pattern.toLowerCase(), action.toLowerCase())) &&
    listOf(Resource).some((pattern) => isLike(pattern, resource)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, expected]) => matches(operator, listOf(expected), context[key])),
    )
  )
}

type Test = (pattern: string, value: string) => boolean

const TESTS: Readonly<Record<string, Test>> = {
  StringEquals: (pattern, value) => pattern === value,
  StringLike: (pattern, value) => isLike(pattern, value),
  ArnEquals: (pattern, value) => isArnLike(pattern, value),
  ArnLike: (pattern, value) => isArnLike(pattern, value),
}

/** True if one of the wanted values matches. A missing key fails, except with IfExists and with ForAllValues, which has nothing to test. */
function matches(operator: string, expected: readonly string[], actual: string | readonly string[] | undefined): boolean {
  const [, quantifier, name = '', ifExists] = /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(operator) ?? []
  if (operator === 'Null') return expected.includes(String(actual === undefined))
  const test = TESTS[name]
  if (test === undefined) throw new Error(`not known here: ${operator}`)
  if (actual === undefined) return quantifier === 'ForAllValues' || ifExists !== undefined
  const values = listOf(actual)
  if (quantifier === undefined && values.length > 1) throw new Error(`several values of one key: ${operator}`)
  const isWanted = (value: string): boolean => expected.some((pattern) => test(pattern, value))
  return quantifier === 'ForAllValues' ? values.every(isWanted) : values.some(isWanted)
}

/** `*`: any characters, also none. `?`: one. */
function isLike(pattern: string, value: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.')
  return new RegExp(`^${source}$`, 's').test(value)
}

/** The six parts of an ARN each for themselves. */
function isArnLike(pattern: string, value: string): boolean {
  const parts = (arn: string): readonly string[] => /^([^:]*):([^:]*):([^:]*):([^:]*):([^:]*):(.*)$/s.exec(arn)?.slice(1) ?? []
  const [patterns, values] = [parts(pattern), parts(value)]
  return patterns.length === 6 && values.length === 6 && patterns.every((each, i) => isLike(each, values[i]!))
}

const listOf = (value: unknown): readonly string[] =>
  (value === undefined ? [] : Array.isArray(value) ? value : [value]) as readonly string[]

const logicalIdOf = (reference: unknown): string => {
  const { Ref, 'Fn::GetAtt': attribute } = reference as { readonly Ref?: string; readonly 'Fn::GetAtt'?: readonly string[] }
  return Ref ?? attribute![0]!
}

/** References become ARNs. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved)
  if (typeof value !== 'object' || value === null) return value
  const [[name, content] = ['', undefined]] = Object.entries(value)
  switch (name) {
    case 'Fn::Join':
      return (content as [string, unknown[]])[1].map(resolved).join((content as [string])[0])
    case 'Fn::GetAtt':
      return arnOf(...(content as [string, string]))
    case 'Ref':
      return PSEUDO[content as string] ?? arnOf(content as string, '')
    case 'Fn::ImportValue':
      return imported(content as string)
    case 'Fn::GetStackOutput':
      return imported((content as { readonly OutputName: string }).OutputName.replace(/^Publish/, ':Exports'))
    default:
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolved(each)]))
  }
}

const PSEUDO: Readonly<Record<string, string>> = { 'AWS::Region': 'us-east-1', 'AWS::AccountId': '000000000000', 'AWS::Partition': 'aws' }

/** `stack:ExportsOutputFnGetAttResourceTable12345678Arn12345678` */
function imported(name: string): string {
  const [, logicalId = '', attribute = ''] = /:ExportsOutput(?:FnGetAtt|Ref)(\w+?[0-9A-F]{8})(Arn|StreamArn)?/.exec(name) ?? []
  if (logicalId === '') throw new Error(`not known here: ${name}`)
  return arnOf(logicalId, attribute)
}

function arnOf(logicalId: string, attribute: string): string {
  const stem = logicalId.replace(/[0-9A-F]{8}$/, '')
  if (attribute === 'Name') return stem
  const arn = (ARNS as Readonly<Record<string, string>>)[stem] ?? `arn:aws:unknown:${LOCATION}:${stem}`
  return attribute === 'StreamArn' ? `${arn}/stream/1` : arn
}
