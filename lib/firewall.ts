/**
 * WAF at the API: bodies that are too large for a function, and clients that ask too much. No managed rules: they take narratives for attacks.
 * https://docs.aws.amazon.com/waf/latest/developerguide/
 */
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2'
import { Construct } from 'constructs'
import { CLIENT_ADDRESS } from './distribution.ts'
import { ALLOW_ORIGIN, allowedOrigin, outcomeText } from './gateway-errors.ts'
import type { Settings } from './settings.ts'

const FIVE_MINUTES = 300

export class Firewall extends Construct {
  readonly webAcl: CfnWebACL

  constructor(scope: Construct, id: string, stageArn: string, settings: Settings) {
    super(scope, id)
    const { limits, service } = settings
    const origin = allowedOrigin(settings)
    this.webAcl = new CfnWebACL(this, 'WebAcl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: shown('Requests'),
      customResponseBodies: {
        TooLarge: body('too-long', `The body has more than ${service.maxBodyBytes} bytes`),
        TooMany: body('throttled', 'Too many requests of one address: try again in a few minutes'),
      },
      rules: [
        {
          name: 'TooLarge',
          priority: 0,
          action: refuse(413, 'TooLarge', origin),
          statement: {
            regexMatchStatement: {
              fieldToMatch: { singleHeader: { Name: 'content-length' } },
              regexString: moreThan(Number(service.maxBodyBytes)),
              textTransformations: [{ priority: 0, type: 'NONE' }],
            },
          },
          visibilityConfig: shown('TooLarge'),
        },
        {
          name: 'TooMany',
          priority: 1,
          action: refuse(429, 'TooMany', origin),
          statement: {
            rateBasedStatement: {
              limit: limits.perAddress,
              evaluationWindowSec: FIVE_MINUTES,
              // Of CloudFront itself all requests come.
              aggregateKeyType: 'FORWARDED_IP',
              forwardedIpConfig: { headerName: CLIENT_ADDRESS, fallbackBehavior: 'NO_MATCH' },
            },
          },
          visibilityConfig: shown('TooMany'),
        },
      ],
    })
    new CfnWebACLAssociation(this, 'Association', { resourceArn: stageArn, webAclArn: this.webAcl.attrArn })
  }
}

const shown = (metricName: string) => ({ metricName, cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false })
const body = (code: string, text: string) => ({ contentType: 'APPLICATION_JSON', content: outcomeText(code, text) })
const refuse = (responseCode: number, customResponseBodyKey: string, origin: string | undefined) => {
  const responseHeaders = origin === undefined ? [] : [{ name: ALLOW_ORIGIN, value: origin }]
  return { block: { customResponse: { responseCode, customResponseBodyKey, responseHeaders } } }
}

/** A regular expression for whole numbers above one, in the small language WAF knows. */
export function moreThan(limit: number): string {
  const digits = String(limit)
  const larger = [...digits].flatMap((digit, i) => {
    const rest = digits.length - i - 1
    return digit === '9' ? [] : [`${digits.slice(0, i)}[${Number(digit) + 1}-9]${rest === 0 ? '' : `[0-9]{${rest}}`}`]
  })
  return `^(${[...larger, `[0-9]{${digits.length + 1},}`].join('|')})$`
}
