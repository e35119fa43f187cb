/**
 * AWS WAF in front of the API. If a stage requires CloudFront, it blocks requests that bypass CloudFront. Otherwise it blocks bodies too large
 * for a function. CloudFront's viewer function rejects such bodies without a rule. The firewall throttles addresses and tokens that send too
 * many requests. It uses no managed rules, because they mistake narratives for attacks.
 * https://docs.aws.amazon.com/waf/latest/developerguide/
 */
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'
import { ENDPOINT_ROUTES, ROUTES, requiresToken } from '../../lambdas/catalogue/catalogue.ts'
import { CLIENT_ADDRESS_HEADER } from '../../lambdas/http/gateway-contract.ts'
import type { Settings } from '../settings/settings.ts'
import { ALLOW_ORIGIN_HEADER, allowedOriginOf, toOutcomeJson } from './gateway-errors.ts'
import { ORIGIN_SECRET_HEADER, type OriginSecret } from './origin-secret.ts'

const FIVE_MINUTES = 300

type Rate = CfnWebACL.RateBasedStatementProperty
type Statement = CfnWebACL.StatementProperty

export class Firewall extends Construct {
  readonly webAcl: CfnWebACL

  /** `secret`: origin secret that every request must carry. Undefined: requests need none. */
  constructor(scope: Construct, id: string, settings: Settings, secret: OriginSecret | undefined) {
    super(scope, id)
    const { limits, service } = settings
    const origin = allowedOriginOf(settings)
    const rule = (name: keyof typeof ANSWERS, statement: Statement) => ({
      name,
      action: refuse(ANSWERS[name], name, origin),
      statement,
      visibilityConfig: visibilityOf(name),
    })
    const isBehindFront = secret !== undefined
    const rules = [
      secret === undefined
        ? rule('TooLarge', isLongerThan(Number(service.maxBodyBytes)))
        : rule('NotThroughFront', { notStatement: { statement: anyOf(secret.accepted.map(carries)) } }),
      rule('TooMany', { rateBasedStatement: addressRate(limits.perAddress, isBehindFront) }),
      ...(limits.perToken === undefined ? [] : [rule('TooManyOfToken', { rateBasedStatement: tokenRate(limits.perToken) })]),
      ...(limits.withoutToken === undefined
        ? []
        : [
            rule('TooManyWithoutToken', {
              rateBasedStatement: { ...addressRate(limits.withoutToken, isBehindFront), scopeDownStatement: LACKS_TOKEN },
            }),
          ]),
    ]
    const texts = {
      NotThroughFront: body('forbidden', 'This is not the address of the server'),
      TooLarge: body('too-long', `The body has more than ${service.maxBodyBytes} bytes`),
      TooMany: body('throttled', 'Too many requests from one address: try again in a few minutes'),
      TooManyOfToken: body('throttled', 'Too many requests with one token: try again in a few minutes'),
      TooManyWithoutToken: body('throttled', 'Too many requests without a token: request an access token'),
    } satisfies Readonly<Record<keyof typeof ANSWERS, object>>
    this.webAcl = new CfnWebACL(this, 'WebAcl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visibilityOf('Requests'),
      customResponseBodies: Object.fromEntries(rules.map(({ name }) => [name, texts[name]])),
      rules: rules.map((each, priority) => ({ ...each, priority })),
    })
  }

  protect(stageArn: string): void {
    new CfnWebACLAssociation(this, 'Association', { resourceArn: stageArn, webAclArn: this.webAcl.attrArn })
  }
}

const ANSWERS = { NotThroughFront: 403, TooLarge: 413, TooMany: 429, TooManyOfToken: 429, TooManyWithoutToken: 429 } as const

const NO_TRANSFORMATION = [{ priority: 0, type: 'NONE' }]

const anyOf = (statements: readonly Statement[]): Statement =>
  statements.length === 1 ? statements[0]! : { orStatement: { statements: [...statements] } }

const carries = (searchString: string): Statement => ({
  byteMatchStatement: {
    fieldToMatch: { singleHeader: { Name: ORIGIN_SECRET_HEADER } },
    positionalConstraint: 'EXACTLY',
    searchString,
    textTransformations: NO_TRANSFORMATION,
  },
})

const isLongerThan = (bytes: number): Statement => ({
  regexMatchStatement: {
    fieldToMatch: { singleHeader: { Name: 'content-length' } },
    regexString: numberPatternAbove(bytes),
    textTransformations: NO_TRANSFORMATION,
  },
})

/**
 * Counts the requests of each client address in five minutes. Behind CloudFront a header names that address. Elsewhere any client could
 * forge the header.
 */
const addressRate = (limit: number, isBehindFront: boolean): Rate => ({
  limit,
  evaluationWindowSec: FIVE_MINUTES,
  ...(isBehindFront
    ? { aggregateKeyType: 'FORWARDED_IP', forwardedIpConfig: { headerName: CLIENT_ADDRESS_HEADER, fallbackBehavior: 'MATCH' } }
    : { aggregateKeyType: 'IP' }),
})

/** Counts the requests with each value of the header Authorization in five minutes. It does not count requests without the header. */
const tokenRate = (limit: number): Rate => ({
  limit,
  evaluationWindowSec: FIVE_MINUTES,
  aggregateKeyType: 'CUSTOM_KEYS',
  customKeys: [{ header: { name: 'authorization', textTransformations: NO_TRANSFORMATION } }],
})

/** First parts of the paths that require no token: metadata, discovery, login, token endpoint, health, explorer. */
const PUBLIC_PARTS = new Set(
  [...ROUTES, ...ENDPOINT_ROUTES].filter(({ interaction }) => !requiresToken(interaction)).map(({ path }) => path.split('/')[1]!),
)

/**
 * Matches requests that lack a token but require one. Browsers send preflight requests (OPTIONS) without it. The path begins with the stage
 * of API Gateway.
 */
const LACKS_TOKEN: Statement = {
  notStatement: {
    statement: {
      orStatement: {
        statements: [
          {
            sizeConstraintStatement: {
              fieldToMatch: { singleHeader: { Name: 'authorization' } },
              comparisonOperator: 'GT',
              size: 0,
              textTransformations: NO_TRANSFORMATION,
            },
          },
          {
            byteMatchStatement: {
              fieldToMatch: { method: {} },
              positionalConstraint: 'EXACTLY',
              searchString: 'OPTIONS',
              textTransformations: NO_TRANSFORMATION,
            },
          },
          {
            regexMatchStatement: {
              fieldToMatch: { uriPath: {} },
              regexString: `^(?:/[a-z]+)?/(?:${[...PUBLIC_PARTS].map((part) => part.replaceAll('.', '[.]')).join('|')})(?:/|$)`,
              textTransformations: NO_TRANSFORMATION,
            },
          },
        ],
      },
    },
  },
}

const visibilityOf = (metricName: string) => ({ metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false })
const body = (code: string, text: string) => ({ contentType: 'APPLICATION_JSON', content: toOutcomeJson(code, text) })
const refuse = (responseCode: number, customResponseBodyKey: string, origin: string | undefined) => {
  const originHeader = origin === undefined ? [] : [{ name: ALLOW_ORIGIN_HEADER, value: origin }]
  const responseHeaders = [{ name: 'Cache-Control', value: 'no-store' }, ...originHeader]
  return { block: { customResponse: { responseCode, customResponseBodyKey, responseHeaders } } }
}

/** Returns a regular expression for whole numbers above the limit, in the limited syntax of WAF. */
export function numberPatternAbove(limit: number): string {
  const digits = String(limit)
  const larger = [...digits].flatMap((digit, i) => {
    const rest = digits.length - i - 1
    return digit === '9' ? [] : [`${digits.slice(0, i)}[${Number(digit) + 1}-9]${rest === 0 ? '' : `[0-9]{${rest}}`}`]
  })
  return `^(?:${[...larger, `[0-9]{${digits.length + 1},}`].join('|')})$`
}
