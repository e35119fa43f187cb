/**
 * CloudFront in front of the API and the export files. It provides one address and TLS, and encodes queries as API Gateway requires. It
 * caches nothing.
 */
import { Duration, Stack } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  Distribution,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HttpVersion,
  OriginProtocolPolicy,
  OriginRequestPolicy,
  OriginSslPolicy,
  SecurityPolicyProtocol,
  Function as ViewerFunction,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront'
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins'
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53'
import { CloudFrontTarget } from 'aws-cdk-lib/aws-route53-targets'
import { Construct } from 'constructs'
import { CLIENT_ADDRESS_HEADER } from '../../lambdas/http/gateway-contract.ts'
import { EXPORT_FILES_PATTERN } from '../edge/export-files.ts'
import { allowedOriginOf, toOutcomeJson } from '../edge/gateway-errors.ts'
import { ORIGIN_SECRET_HEADER, type OriginSecret } from '../edge/origin-secret.ts'
import { refusedFunctionCode } from '../edge/viewer-response.ts'
import { type CustomDomain, localOriginOf, type Settings } from '../settings/settings.ts'
import { GATEWAY_STAGE } from './fhir-api.ts'

export type FhirDistributionProps = {
  readonly api: RestApi
  readonly settings: Settings
  /** Behavior for export files. */
  readonly files: BehaviorOptions
  /** Secret by which the API recognizes CloudFront. If absent, the API requires none. */
  readonly secret?: OriginSecret
}

/**
 * Statuses that CloudFront caches for ten seconds by default, regardless of the response's cache headers.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/HTTPStatusCodes.html
 */
const CACHED_ERRORS = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]

export class FhirDistribution extends Construct {
  /**
   * Base URL that clients use and links contain, without a trailing slash. With `iam` it is the API's own address, because a signature is
   * valid for one host only.
   */
  readonly baseUrl: string
  /**
   * Base URLs of the stage: the API's own, CloudFront's, that of the custom domain, and `baseUrl`. References to any of them count as
   * local. The first is the API's own, which no setting changes.
   */
  readonly bases: readonly string[]
  /** Origin of links to export files. It is CloudFront's address even if the server has another base URL. */
  readonly fileOrigin: string
  readonly distribution: Distribution

  constructor(scope: Construct, id: string, { api, settings, files, secret }: FhirDistributionProps) {
    super(scope, id)
    const { access, customDomain, stage, baseUrl } = settings
    const { region, urlSuffix } = Stack.of(this)
    // The address of the API's stage would be circular. The stage depends on the functions, and these receive the distribution's address.
    const apiHost = `${api.restApiId}.execute-api.${region}.${urlSuffix}`
    const apiOrigin = new HttpOrigin(apiHost, {
      protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
      originSslProtocols: [OriginSslPolicy.TLS_V1_2],
      ...(secret === undefined ? {} : { customHeaders: { [ORIGIN_SECRET_HEADER]: secret.sent } }),
    })
    this.distribution = new Distribution(this, 'Distribution', {
      comment: `FHIR ${stage}`,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        origin: apiOrigin,
        allowedMethods: AllowedMethods.ALLOW_ALL,
        cachePolicy: CachePolicy.CACHING_DISABLED,
        originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        compress: true,
        functionAssociations: [{ eventType: FunctionEventType.VIEWER_REQUEST, function: this.#viewerRequest(settings) }],
      },
      additionalBehaviors: { [EXPORT_FILES_PATTERN]: files },
      errorResponses: CACHED_ERRORS.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
      ...(customDomain === undefined ? {} : this.#domainProps(customDomain)),
    })
    if (customDomain !== undefined) this.#record(customDomain)
    const origin = `https://${customDomain?.name ?? this.distribution.distributionDomainName}`
    const own = `https://${apiHost}/${GATEWAY_STAGE}`
    this.baseUrl = baseUrl ?? (access === 'iam' ? own : `${origin}/${GATEWAY_STAGE}`)
    this.bases = [
      ...new Set([own, `https://${this.distribution.distributionDomainName}/${GATEWAY_STAGE}`, `${origin}/${GATEWAY_STAGE}`, this.baseUrl]),
    ]
    this.fileOrigin = localOriginOf(baseUrl) ?? origin
  }

  #viewerRequest(settings: Settings): ViewerFunction {
    const code = FunctionCode.fromInline(viewerRequest(settings))
    return new ViewerFunction(this, 'ViewerRequest', { runtime: FunctionRuntime.JS_2_0, code })
  }

  #domainProps({ name, certificateArn }: CustomDomain) {
    return {
      domainNames: [name],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
    }
  }

  #record({ name, hostedZone: { id, name: zoneName } }: CustomDomain): void {
    const zone = HostedZone.fromHostedZoneAttributes(this, 'Zone', { hostedZoneId: id, zoneName })
    new ARecord(this, 'Record', { zone, recordName: `${name}.`, target: RecordTarget.fromAlias(new CloudFrontTarget(this.distribution)) })
  }
}

/**
 * Maximum characters of the address, and of address and headers together. Above them the client receives 414 or 431. CloudFront accepts
 * 8,192 in the address, API Gateway 10,240 bytes in both, and neither answers a larger request with an OperationOutcome.
 */
const LONGEST_ADDRESS = 8_000
const LONGEST_HEAD = 9_500

/**
 * Code that maps discovery requests at the root, where clients of the authorization server look:
 * https://www.rfc-editor.org/rfc/rfc8414#section-3.1
 */
const TO_BASE = `\
  var known = /^(\\/\\.well-known\\/(?:smart-configuration|openid-configuration|oauth-authorization-server))(?:\\/${GATEWAY_STAGE})?$/.exec(request.uri)
  if (known) request.uri = '/${GATEWAY_STAGE}' + known[1]
`

/** Code that maps the health at the root to the API, where load balancers and monitors look for it. */
const TO_HEALTH = `\
  if (request.uri === '/health') request.uri = '/${GATEWAY_STAGE}/health'
`

/** Code that leads a browser from the root to the base, where the explorer is. Other clients are answered 404. */
const TO_EXPLORER = `\
  var accept = request.headers.accept ? request.headers.accept.value : ''
  var isPage = accept.includes('text/html') && accept.includes('application/xhtml+xml') && !accept.includes('json')
  if (request.uri === '/' && request.method === 'GET' && isPage) return {
    statusCode: 303,
    headers: { location: { value: '/${GATEWAY_STAGE}/' }, 'cache-control': { value: 'no-store' }, vary: { value: 'Accept' } }
  }
`

/** Returns code that rejects bodies too large for a function. With tokens, all requests pass it, so that the firewall needs no rule. */
const tooLarge = (bytes: number): string => `\
  var length = request.headers['content-length']
  if (length && Number(length.value) > ${bytes}) return refused(413, '${toOutcomeJson('too-long', `The body has more than ${bytes} bytes`)}')
`

/**
 * Returns the source of the viewer function in CloudFront's JavaScript. It rejects requests that are too long. It also encodes characters
 * that browsers leave in a query, but at which API Gateway rejects or splits it.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-javascript-runtime-20.html
 */
function viewerRequest(settings: Settings): string {
  const { maxBodyBytes } = settings.service
  const givesTokens = settings.access === 'token'
  return `
function encoded(text) {
  return text.replace(/[|{};]/g, function (character) { return '%' + character.charCodeAt(0).toString(16).toUpperCase() })
}
${refusedFunctionCode(allowedOriginOf(settings))}function size(values) {
  return Object.keys(values).reduce(function (sum, name) {
    var each = values[name]
    return (each.multiValue || [each]).reduce(function (some, one) { return some + name.length + one.value.length + 4 }, sum)
  }, 0)
}
function handler(event) {
  var request = event.request
${TO_HEALTH}${givesTokens ? `${TO_BASE}${TO_EXPLORER}` : ''}  if (!/^\\/${GATEWAY_STAGE}(\\/|$)/.test(request.uri)) return refused(404, '${toOutcomeJson('not-found', `The server is at /${GATEWAY_STAGE}`)}')
${givesTokens ? tooLarge(Number(maxBodyBytes)) : ''}  var address = request.uri.length + size(request.querystring)
  if (address > ${LONGEST_ADDRESS}) return refused(414, '${toOutcomeJson('too-long', 'The address is too long: search by POST')}')
  if (address + size(request.headers) > ${LONGEST_HEAD}) return refused(431, '${toOutcomeJson('too-long', 'The headers are too long')}')
  if (event.viewer) request.headers['${CLIENT_ADDRESS_HEADER}'] = { value: event.viewer.ip }
  Object.keys(request.querystring).forEach(function (name) {
    var each = request.querystring[name]
    each.value = encoded(each.value)
    if (each.multiValue) each.multiValue.forEach(function (one) { one.value = encoded(one.value) })
  })
  return request
}
`.trim()
}
