/**
 * REST API: a resource and its methods for each route of lambdas/catalogue/catalogue.ts. Its deployment stage is named `fhir`, so that paths
 * are the same at the API's own address and behind CloudFront. https://docs.aws.amazon.com/apigateway/latest/developerguide/
 */
import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib'
import {
  AccessLogFormat,
  AuthorizationType,
  type CfnRestApi,
  EndpointAccessMode,
  EndpointType,
  type IResource,
  LambdaIntegration,
  LogGroupLogDestination,
  type MethodDeploymentOptions,
  MethodLoggingLevel,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { ENDPOINT_ROUTES, ENDPOINTS, type HttpFunction, isHeadAllowed, ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import { FUNCTIONS, functionOf } from '../../lambdas/functions/functions.ts'
import { BINARY_TYPES } from '../../lambdas/http/gateway-contract.ts'
import { addGatewayErrors } from '../edge/gateway-errors.ts'
import { measureRefusedRequests } from '../monitoring/refused-requests.ts'
import { TOKEN_ROUTE } from '../monitoring/watch.ts'
import type { Settings } from '../settings/settings.ts'

export const GATEWAY_STAGE = 'fhir'

/** Size from which API Gateway compresses responses for clients that accept it. A shorter one takes one packet anyway. */
const MIN_COMPRESSED = Size.bytes(1_400)

const methodOptions = ({ limits }: Settings): MethodDeploymentOptions => ({
  // Traces would contain paths and bodies.
  dataTraceEnabled: false,
  loggingLevel: MethodLoggingLevel.OFF,
  throttlingRateLimit: limits.rate,
  throttlingBurstLimit: limits.burst,
})

export type HttpFunctions = Readonly<Partial<Record<HttpFunction, IFunction>>>

export class FhirApi extends Construct {
  readonly api: RestApi
  readonly logGroup: LogGroup
  readonly #settings: Settings

  constructor(scope: Construct, id: string, settings: Settings, key: IKey) {
    super(scope, id)
    this.#settings = settings
    this.logGroup = new LogGroup(this, 'AccessLog', {
      retention: settings.logRetentionDays as RetentionDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.api = new RestApi(this, 'Api', {
      restApiName: `fhir-${settings.stage}`,
      description: 'FHIR R4',
      endpointTypes: [EndpointType.REGIONAL],
      binaryMediaTypes: [...BINARY_TYPES],
      minCompressionSize: MIN_COMPRESSED,
      cloudWatchRole: true,
      deployOptions: {
        stageName: GATEWAY_STAGE,
        ...methodOptions(settings),
        // Metrics of single methods cost extra. Only one method has an alarm.
        methodOptions: settings.access === 'token' ? { [`${TOKEN_ROUTE}/POST`]: { ...methodOptions(settings), metricsEnabled: true } } : {},
        accessLogDestination: new LogGroupLogDestination(this.logGroup),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify({ ...ACCESS, stage: settings.stage })),
      },
    })
    // The construct has no properties for these. Without them, the API's own address accepts TLS 1.0.
    const resource = this.api.node.defaultChild as CfnRestApi
    resource.securityPolicy = SecurityPolicy.TLS13_1_2_PQ_2025_09
    resource.endpointAccessMode = EndpointAccessMode.BASIC
    addGatewayErrors(this.api, settings)
    measureRefusedRequests(this, this.logGroup)
  }

  /** Adds the routes. The functions need the address of the API, so they are created after the API and before this call. */
  addRoutes(functions: HttpFunctions): void {
    const integrations = new Map<HttpFunction, LambdaIntegration>()
    const integrationOf = (name: HttpFunction): LambdaIntegration => {
      const options = { timeout: Duration.seconds(29), scopePermissionToMethod: false }
      if (!integrations.has(name)) integrations.set(name, new LambdaIntegration(functions[name]!, options))
      return integrations.get(name)!
    }
    const authorizationType = this.#settings.access === 'iam' ? AuthorizationType.IAM : AuthorizationType.NONE
    // Load balancers and monitors sign no requests.
    const typeOf = (name: HttpFunction) => (name === 'health' ? AuthorizationType.NONE : authorizationType)
    for (const [path, methods] of gatewayRoutesOf(this.#settings)) {
      const resource = path.split('/').filter(Boolean).reduce(child, this.api.root)
      for (const [method, name] of methods) resource.addMethod(method, integrationOf(name), { authorizationType: typeOf(name) })
      resource.addMethod('ANY', integrationOf('fallback'), { authorizationType })
      // Browsers send preflight requests without credentials, which ANY rejects only with IAM.
      if (authorizationType === AuthorizationType.IAM)
        resource.addMethod('OPTIONS', integrationOf('fallback'), { authorizationType: AuthorizationType.NONE })
    }
  }
}

const child = (parent: IResource, part: string): IResource => parent.getResource(part) ?? parent.addResource(part)

/** Fields of the access log. The route is enough: paths, queries and client addresses are not logged. */
const ACCESS = {
  requestId: '$context.requestId',
  time: '$context.requestTimeEpoch',
  method: '$context.httpMethod',
  route: '$context.resourcePath',
  status: '$context.status',
  error: '$context.error.responseType',
  bytes: '$context.responseLength',
  ms: '$context.responseLatency',
  functionMs: '$context.integrationLatency',
}

/**
 * Returns the function of each method, by path in the form of API Gateway. Variables at the same position have the same name, and no name
 * occurs twice in a path. A function for GET also serves HEAD, unless GET starts an operation.
 */
export function gatewayRoutesOf({ access }: Pick<Settings, 'access'>): ReadonlyMap<string, ReadonlyMap<string, HttpFunction>> {
  const givesTokens = access === 'token'
  const routes = new Map<string, Map<string, HttpFunction>>((givesTokens ? UNKNOWN_ENDPOINTS : []).map((path) => [path, new Map()]))
  const endpoints = ENDPOINT_ROUTES.filter(
    ({ interaction }) => givesTokens || FUNCTIONS[ENDPOINTS[interaction].lambda].onlyWithTokens !== true,
  )
  for (const route of [...ROUTES, ...endpoints]) {
    const { method, path, interaction } = route
    const name = functionOf(interaction)
    if (name === 'cloudfront') continue
    const template = templateOf(path)
    const methods = routes.get(template) ?? new Map<string, HttpFunction>()
    for (const each of isHeadAllowed(route) ? [method, 'HEAD'] : [method]) methods.set(each, name)
    routes.set(template, methods)
  }
  return routes
}

/** Paths that the fallback answers, so that no FHIR route matches them. Below them are only endpoints of the authorization server. */
const UNKNOWN_ENDPOINTS = ['/auth', '/auth/{proxy+}', '/.well-known', '/.well-known/{proxy+}']

/** Names of path variables by depth. They need no meaning: the handler inserts their values into the path by position. */
const VARIABLES = ['{type}', '{id}', '{type2}', '{versionId}']

/** Variable for the rest of a path, which has the same form in the catalogue. */
const REST = '{proxy+}'

const templateOf = (path: string): string =>
  path
    .split('/')
    .map((part, i) => (part !== REST && (part.startsWith('{') || part === '*') ? VARIABLES[i - 1]! : part))
    .join('/')
