/** The rules of a WAF at the API, as far as the template uses them. https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statements-list.html */
import type { IncomingHttpHeaders } from 'node:http'
import type { Tree } from './aws-calls.ts'

export type BlockResponse = { readonly status: number; readonly contentType: string; readonly body: string }

/** undefined: the request passes. */
export type Firewall = (headers: IncomingHttpHeaders) => BlockResponse | undefined

const TYPES: Readonly<Record<string, string>> = { APPLICATION_JSON: 'application/json', TEXT_PLAIN: 'text/plain', TEXT_HTML: 'text/html' }

export function firewallOf(template: Tree): Firewall {
  const found = Object.values<Tree>(template.Resources).find(({ Type }) => Type === 'AWS::WAFv2::WebACL')
  if (found === undefined) return () => undefined
  const { Rules, CustomResponseBodies } = found.Properties
  const rules: readonly Tree[] = [...Rules].sort((a, b) => a.Priority - b.Priority)
  return (headers) => {
    const rule = rules.find(({ Statement, Action }) => Action?.Block !== undefined && fits(Statement, headers))
    if (rule === undefined) return undefined
    const { ResponseCode = 403, CustomResponseBodyKey } = rule.Action.Block.CustomResponse ?? {}
    const { ContentType, Content } = CustomResponseBodies?.[CustomResponseBodyKey] ?? { ContentType: 'TEXT_HTML', Content: 'Forbidden' }
    return { status: ResponseCode, contentType: TYPES[ContentType]!, body: Content }
  }
}

function fits(statement: Tree, headers: IncomingHttpHeaders): boolean {
  const { RateBasedStatement, NotStatement, OrStatement, ByteMatchStatement, RegexMatchStatement } = statement
  // How often a client asks is not counted here.
  if (RateBasedStatement !== undefined) return false
  if (NotStatement !== undefined) return !fits(NotStatement.Statement, headers)
  if (OrStatement !== undefined) return OrStatement.Statements.some((each: Tree) => fits(each, headers))
  const { FieldToMatch } = ByteMatchStatement ?? RegexMatchStatement ?? {}
  if (FieldToMatch === undefined) throw new Error(`a statement that is not known here: ${JSON.stringify(statement)}`)
  const value = headers[FieldToMatch.SingleHeader.Name]
  if (ByteMatchStatement !== undefined) return value === unresolvedTextOf(ByteMatchStatement.SearchString)
  return typeof value === 'string' && new RegExp(RegexMatchStatement.RegexString).test(value)
}

/** A secret as whoever reads the template knows it: by its reference. */
export const unresolvedTextOf = (value: Tree): string => JSON.stringify(value)
