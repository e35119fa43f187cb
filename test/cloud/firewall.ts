/** The rules of a WAF at the API, as far as the template uses them. https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statements-list.html */
import type { IncomingHttpHeaders } from 'node:http'
import type { Tree } from './aws-calls.ts'

export type Blocked = { readonly status: number; readonly contentType: string; readonly body: string }

/** undefined: the request passes. */
export type Firewall = (headers: IncomingHttpHeaders) => Blocked | undefined

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
  // How often a client asks is not counted here.
  if (statement.RateBasedStatement !== undefined) return false
  if (statement.RegexMatchStatement === undefined) throw new Error(`a statement that is not known here: ${JSON.stringify(statement)}`)
  const { FieldToMatch, RegexString } = statement.RegexMatchStatement
  const value = headers[FieldToMatch.SingleHeader.Name]
  return typeof value === 'string' && new RegExp(RegexString).test(value)
}
