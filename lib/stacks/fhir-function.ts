/** Lambda function of this project: its code, access to its own ports only, and a log with limited retention. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { ISecurityGroup, IVpc } from 'aws-cdk-lib/aws-ec2'
import { ManagedPolicy, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { HttpFunction } from '../../lambdas/catalogue/catalogue.ts'
import { FUNCTIONS, type FunctionName, functionsOfStage, isHttpFunction, portsOfStage } from '../../lambdas/functions/functions.ts'
import type { Bundle } from '../bundle.ts'
import { accessOfPorts } from '../permissions/grants.ts'
import type { AwsResources } from '../permissions/permissions.ts'
import { epochEnvironmentOf } from '../settings/restored-tables.ts'
import { type Settings, serviceEnvironmentOf } from '../settings/settings.ts'
import { rolePathOf } from './search-domain.ts'

export type FhirFunctionProps = {
  readonly name: FunctionName
  readonly bundle: Bundle
  readonly settings: Settings
  readonly aws: AwsResources
  /** Statements in addition to those of its ports. */
  readonly statements?: readonly PolicyStatement[]
  readonly environment?: Readonly<Record<string, string>>
  readonly network?: { readonly vpc: IVpc; readonly functions: ISecurityGroup }
}

/** Properties that differ between the functions of a stage. */
export type OwnProps = Pick<FhirFunctionProps, 'environment' | 'statements'>

/** Timeouts in seconds, by function. `http`: all others, which answer requests; API Gateway waits 29 seconds for them. */
const TIMEOUTS: Readonly<Partial<Record<FunctionName, number>>> & { readonly http: number } = {
  http: 29,
  // Its sweep writes up to 12,000 beats in half a minute, and waits up to a minute for the last ones to appear in the table's index.
  indexer: 120,
  'settle-transactions': 300,
  'rebuild-step': 900,
  migrate: 300,
  'tend-keys': 60,
  'link-key': 60,
  'export-step': 900,
  'export-sweep': 300,
  'export-schedule': 60,
  'adopt-tables': 300,
  'audit-archive': 60,
}

export class FhirFunction extends Construct {
  readonly name: FunctionName
  readonly function: LambdaFunction

  constructor(scope: Construct, { name, bundle, settings, aws, statements = [], environment = {}, network }: FhirFunctionProps) {
    super(scope, constructId(name))
    this.name = name
    const ports = accessOfPorts(portsOfStage(name, settings.access), aws)
    const { stage, memory, concurrency, logRetentionDays } = settings
    const logGroup = new LogGroup(this, 'Log', {
      retention: logRetentionDays as RetentionDays,
      encryptionKey: aws.key,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    const writesLog = new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] })
    this.function = new LambdaFunction(this, 'Function', {
      description: `FHIR ${stage}: ${name}`,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundle.folder, { assetHash: bundle.hash }),
      handler: `${name}.handler`,
      memorySize: memory[FUNCTIONS[name].kind],
      timeout: Duration.seconds(TIMEOUTS[name] ?? TIMEOUTS.http),
      environment: { ...serviceEnvironmentOf(settings), ...epochEnvironmentOf(settings.restored), ...ports.environment, ...environment },
      logGroup,
      role: this.#role(stage, [writesLog, ...ports.statements, ...statements], network !== undefined),
      ...(concurrency[name] === undefined ? {} : { reservedConcurrentExecutions: concurrency[name] }),
      ...(network === undefined ? {} : { vpc: network.vpc, securityGroups: [network.functions] }),
    })
  }

  #role(stage: string, statements: readonly PolicyStatement[], isInVpc: boolean): Role {
    const role = new Role(this, 'Role', {
      path: rolePathOf(stage),
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${this.name} may do`,
      inlinePolicies: { Ports: new PolicyDocument({ statements: [...statements], minimize: true }) },
      ...(isInVpc ? { managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole')] } : {}),
    })
    return role
  }
}

/** Returns the construct id, for example SettleTransactions for `settle-transactions`. */
const constructId = (name: string): string => name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

export const httpFunctionsOf = ({ access }: Settings): readonly HttpFunction[] => functionsOfStage(access).filter(isHttpFunction)
