/**
 * Service stack: API, functions, stream processing, CloudFront and firewall. Lasting data is in the data stack, alarms and schedules of exports
 * are in the operation stack.
 */
import { createHash } from 'node:crypto'
import { CfnOutput, CustomResource, Duration, Stack } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { Construct } from 'constructs'
import type { HttpFunction } from '../../lambdas/catalogue/catalogue.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import type { FunctionName } from '../../lambdas/functions/functions.ts'
import { rebuildWorkflow } from '../../lambdas/indexing/rebuild/workflow.ts'
import { EXECUTION_DAYS } from '../../lambdas/runtime/step-times.ts'
import type { Bundles } from '../bundle.ts'
import { ExportFiles } from '../edge/export-files.ts'
import { Firewall } from '../edge/firewall.ts'
import { OriginSecret } from '../edge/origin-secret.ts'
import { AlarmTopics } from '../monitoring/alarm-topics.ts'
import type { DeployedNames, Severity } from '../monitoring/watch.ts'
import { allowSealCreation, allowStreamReading, allowTokenRevocation, indexCopies } from '../permissions/grants.ts'
import { suppressServiceStackFindings } from '../permissions/nag-suppressions.ts'
import type { AwsResources } from '../permissions/permissions.ts'
import { INDEX_NAME } from '../resource-table.ts'
import { nodesOf } from '../settings/domain-sizes.ts'
import { targetOf } from '../settings/export-settings.ts'
import { DEFAULT_SHARDS } from '../settings/index-shards.ts'
import { hasPartners, isArchiving, type Settings, serviceEnvironmentOf } from '../settings/settings.ts'
import { adoptTables, type CurrentTables, changedKeysAccessOf, currentTablesOf } from './adopted-tables.ts'
import { archiveAudit } from './audit-archive.ts'
import type { BackupSources } from './data-backups.ts'
import { accountOf, type DataStack } from './data-stack.ts'
import { FhirDistribution } from './distribution.ts'
import { FhirApi, GATEWAY_STAGE, type HttpFunctions } from './fhir-api.ts'
import { FhirFunction, httpFunctionsOf, type OwnProps } from './fhir-function.ts'
import { firstClient, firstUser } from './first-commands.ts'
import { allowScheduleRules, type ScheduleFunctions } from './scheduled-exports.ts'
import { StepWorkflow } from './step-workflow.ts'
import { followStream, streamEnvironmentOf } from './stream-indexer.ts'
import { EXPORT_SWEEPS, INDEX_SWEEP, KEY_SWEEP, MATCH_SWEEP, SWEEPS, scheduleSweeps } from './sweeps.ts'

/** Sort keys of the stream records that each function receives. `H`: current versions. `P`: heartbeats. `T`: large transactions. */
export const FOLLOWED_SORT_KEYS = { indexer: ['H', 'P'], 'settle-transactions': ['T'] } as const

/** The function of the migration, and the custom resource that runs it before the functions that answer requests are updated. */
type Migration = { readonly migrate: IFunction; readonly resource: CustomResource }

export class ServiceStack extends Stack {
  readonly alarmTopics: Readonly<Record<Severity, ITopic>>
  readonly deployedNames: DeployedNames
  readonly backupSources: BackupSources
  /** Functions that the rules of scheduled exports call; absent if there are none. */
  readonly scheduleFunctions?: ScheduleFunctions
  readonly #settings: Settings
  readonly #bundles: Bundles
  readonly #data: DataStack
  readonly #tables: CurrentTables
  /** Adoption of restored tables. Functions depend on it, so that none uses the tables earlier. */
  #adoption: CustomResource | undefined

  constructor(scope: Construct, id: string, settings: Settings, data: DataStack, bundles: Bundles) {
    super(scope, id, { env: { region: settings.region, ...accountOf(settings) }, description: 'FHIR server: what runs' })
    this.#settings = settings
    this.#bundles = bundles
    this.#data = data
    this.#tables = currentTablesOf(this, settings.restored, data)
    const { key } = data
    this.backupSources = { key, bucket: data.bucket, tables: [this.#tables.resourceTable, this.#tables.stateTable] }
    const fhirApi = new FhirApi(this, 'Api', settings, key)
    const { api } = fhirApi
    const secret = settings.access === 'token' ? new OriginSecret(this, 'Origin', settings.originSecret, key) : undefined
    const firewall = new Firewall(this, 'Firewall', settings, secret)
    const files = new ExportFiles(this, 'Exports', settings, { key, logs: data.logsBucket })
    const streamArn = this.#followed(files)
    const { behaviour, keyPairId } = files.behaviour(this.#function('link-key', this.#aws(files), {}).function)
    const { baseUrl, bases, fileOrigin, distribution } = new FhirDistribution(this, 'Front', {
      ...{ api, settings, files: behaviour },
      ...(secret === undefined ? {} : { secret }),
    })
    const links = { origin: fileOrigin, keyPairId, keyId: files.linkKeys[0]!.key.keyId }
    // The firewall must accept a new secret before CloudFront sends it.
    distribution.node.addDependency(firewall.webAcl)
    const baseUrls = { FHIR_BASE_URL: baseUrl, FHIR_OWN_BASES: bases.join(' ') }

    const changes = changedKeysAccessOf(this, settings.restored, this.#aws(files))
    const keeping = { FHIR_KEPT_INDEX_DAYS: String(settings.keptIndexDays) }
    const step = this.#function('rebuild-step', this.#aws(files), {
      environment: { ...baseUrls, ...keeping, ...changes.environment, FHIR_REBUILD_WAIT: String(settings.rebuildWait) },
      statements: changes.statements,
    })
    const rebuildSteps = (step: string): object => rebuildWorkflow(step, settings.rebuildWidth)
    const rebuild = this.#workflow('Rebuild', step, rebuildSteps, 'Makes the documents of the search index again', EXECUTION_DAYS.rebuild)
    const exportStep = this.#function('export-step', this.#aws(files), { environment: baseUrls })
    const exportSteps = (step: string): object => exportWorkflow(step, settings.exportWriters)
    const exportMachine = this.#workflow('Exporting', exportStep, exportSteps, 'Writes an export into files', EXECUTION_DAYS.export)
    const aws = { ...this.#aws(files), rebuildWorkflow: rebuild.stateMachineArn, exportMachine, links }

    const indexer = this.#function('indexer', aws, {
      environment: { ...baseUrls, ...keeping, FHIR_STAGE: settings.stage, ...streamEnvironmentOf(streamArn, settings, data.network) },
      statements: allowStreamReading(aws, streamArn),
    })
    const settler = this.#function('settle-transactions', aws, { environment: baseUrls, statements: allowStreamReading(aws, streamArn) })
    const mappings = { indexer: this.#follow(indexer, streamArn), 'settle-transactions': this.#follow(settler, streamArn) }
    const archive = archiveAudit(settings, { aws, data, adoption: this.#adoption }, (...asked) => this.#function(...asked))
    scheduleSweeps(this, settler.function, SWEEPS)
    scheduleSweeps(this, indexer.function, INDEX_SWEEP)
    const exportSweep = this.#function('export-sweep', aws, { environment: { ...baseUrls, FHIR_STAGE: settings.stage } })
    const set = settings.access === 'token' ? { schedules: settings.exports.map(({ name }) => name) } : {}
    scheduleSweeps(this, exportSweep.function, EXPORT_SWEEPS, { expired: set })
    scheduleSweeps(this, exportStep.function, MATCH_SWEEP)

    const migration = this.#migration(aws, baseUrls, [indexer, settler, step, exportStep, exportSweep])
    const keys = settings.access === 'token' ? this.#signingKeys(aws, baseUrls) : undefined
    const functions = this.#httpFunctions(aws, baseUrls, migration.resource, keys?.signingKeys)
    fhirApi.addRoutes(functions)
    this.#endMigration(migration, baseUrls, Object.values(functions))
    if (settings.access === 'token') {
      const scheduled = { starter: this.#exportStarter(aws, baseUrls, migration.resource), sweeper: exportSweep.function }
      if (settings.exports.length > 0) {
        allowScheduleRules(scheduled)
        this.scheduleFunctions = scheduled
      }
    }
    firewall.protect(api.deploymentStage.stageArn)

    this.deployedNames = {
      stage: settings.stage,
      api: { name: api.restApiName, stage: GATEWAY_STAGE, rate: settings.limits.rate },
      ...{ table: this.#tables.resourceTable.tableName, stateTable: this.#tables.stateTable.tableName, index: INDEX_NAME },
      followers: { indexer: indexer.function.functionName, 'settle-transactions': settler.function.functionName },
      mappings,
      ...archive,
      rebuild: rebuild.stateMachineArn,
      exports: {
        machine: exportMachine.stateMachineArn,
        sweeper: exportSweep.function.functionName,
        ...(this.scheduleFunctions === undefined ? {} : { starter: this.scheduleFunctions.starter.functionName }),
      },
      ...(keys === undefined ? {} : { tokens: { tender: keys.tender.functionName, hasPartners: hasPartners(settings) } }),
      ...(data.domain === undefined
        ? {}
        : { domain: { name: data.domain.domainName, account: this.account, ...nodesOf(settings.search) } }),
    }
    this.alarmTopics = new AlarmTopics(this, 'Watch', { key, alarmEmail: settings.alarmEmail }).topics
    this.#outputs({
      BaseUrl: baseUrl,
      ApiUrl: api.url,
      ExportOrigin: fileOrigin,
      DistributionDomain: distribution.distributionDomainName,
      AlarmTopic: this.alarmTopics.page.topicArn,
      TicketTopic: this.alarmTopics.ticket.topicArn,
      InfoTopic: this.alarmTopics.info.topicArn,
      ...(settings.access === 'token'
        ? { FirstClient: firstClient(settings), ExplorerUrl: `${baseUrl}/explorer`, FirstUser: firstUser(settings) }
        : {}),
    })
    const { bucket, auditBucket, domain } = data
    const parents = { bucket, ...this.#tables, ...(auditBucket && { auditBucket }), ...(domain && { domain }) }
    suppressServiceStackFindings(this, parents, settings)
  }

  /** Returns the ARN of the resource table's stream. Adopts restored tables first, if the settings name any. */
  #followed(files: ExportFiles): string {
    const { restored, capacity } = this.#settings
    if (restored === undefined) return this.#data.resourceTable.tableStreamArn!
    const aws = this.#aws(files)
    const { function: adopter } = this.#function('adopt-tables', aws, {})
    const isArchived = isArchiving(this.#settings)
    this.#adoption = adoptTables(this, adopter.functionArn, restored, { key: aws.key.keyArn, capacity, isArchived })
    return this.#adoption.getAttString('StreamArn')
  }

  #aws({ bucket: exportBucket, linkKeys }: ExportFiles): AwsResources {
    const { key, bucket, auditBucket, domain } = this.#data
    const { stage, search, exports, capacity, conditionalVersions } = this.#settings
    const searchAccess =
      'endpoint' in search
        ? { searchEndpoint: search.endpoint, ...(search.domainArn === undefined ? {} : { searchDomainArn: search.domainArn }) }
        : { searchEndpoint: `https://${domain!.domainEndpoint}`, searchDomainArn: domain!.domainArn }
    const exportTargets = exports.flatMap((each) => targetOf(each) ?? [])
    const own = { searchCopies: search, exportTargets, linkKeys: linkKeys.map((each) => each.key.keyArn) }
    const indexShards = { ...DEFAULT_SHARDS, ...capacity.shards }
    const archive = auditBucket !== undefined && isArchiving(this.#settings) ? { auditBucket } : {}
    const buckets = { bucket, ...archive, exportBucket }
    return { stage, key, ...this.#tables, indexShards, conditionalVersions, ...buckets, ...own, ...searchAccess }
  }

  #function(name: FunctionName, aws: AwsResources, rest: OwnProps): FhirFunction {
    const { network } = this.#data
    const props = { name, bundle: this.#bundles[name], settings: this.#settings, aws, ...rest }
    const fhirFunction = new FhirFunction(this, { ...props, ...(network === undefined ? {} : { network }) })
    if (this.#adoption !== undefined) fhirFunction.node.addDependency(this.#adoption)
    return fhirFunction
  }

  #workflow(
    id: string,
    { function: step }: FhirFunction,
    definition: (step: string) => object,
    comment: string,
    maxDays: number,
  ): StateMachine {
    const maxDuration = Duration.days(maxDays)
    return new StepWorkflow(this, id, { comment, definition, step, maxDuration, key: this.#data.key, settings: this.#settings }).machine
  }

  #follow(follower: FhirFunction, streamArn: string): string {
    const { bucket } = this.#data
    const { parallelizationFactor } = this.#settings
    const sorts = FOLLOWED_SORT_KEYS[follower.name as keyof typeof FOLLOWED_SORT_KEYS]
    const pattern = { dynamodb: { Keys: { sk: { S: sorts } } } }
    return followStream(follower, { streamArn, bucket, pattern, parallelizationFactor }).eventSourceMappingId
  }

  /** Creates the migration. It runs after the functions that maintain the index are updated, and before those that answer requests. */
  #migration(aws: AwsResources, baseUrls: Record<string, string>, before: readonly FhirFunction[]): Migration {
    const { restored } = this.#settings
    const { environment } = changedKeysAccessOf(this, restored, aws)
    const statements = [...allowSealCreation(aws), ...(restored === undefined ? [] : allowTokenRevocation(aws))]
    const own = { ...baseUrls, ...environment, ...indexCopies(aws) }
    const migrate = this.#function('migrate', aws, { environment: own, statements })
    const resource = new CustomResource(this, 'Migration', {
      resourceType: 'Custom::FhirMigration',
      serviceToken: migrate.function.functionArn,
      serviceTimeout: Duration.minutes(5),
      properties: { ...this.#deployed(baseUrls), ...(restored?.state === undefined ? {} : { AdoptedState: 'yes' }) },
    })
    resource.node.addDependency(...before, migrate)
    return { migrate: migrate.function, resource }
  }

  /** Lets the migration record that the functions that answer requests are updated. A deployment that fails before that records nothing. */
  #endMigration({ migrate, resource }: Migration, baseUrls: Record<string, string>, after: readonly IFunction[]): void {
    new CustomResource(this, 'MigrationEnd', {
      resourceType: 'Custom::FhirMigration',
      serviceToken: migrate.functionArn,
      serviceTimeout: Duration.minutes(5),
      properties: { ...this.#deployed(baseUrls), UpdatedFunctions: 'yes' },
    }).node.addDependency(resource, ...after)
  }

  /** Shows the next deployment that this release reads rows of the index state, and builds the search parameters of packages. */
  readonly #deployed = (baseUrls: Record<string, string>) => ({
    Deployed: this.#fingerprint(baseUrls),
    IndexRows: 'yes',
    PackageParameters: 'yes',
  })

  /** Returns a value that changes with the code and with the settings below. A change makes the deployment run the migration. */
  #fingerprint(baseUrls: Record<string, string>): string {
    const hashes = Object.entries(this.#bundles).map(([name, { hash }]) => [name, hash])
    const { baseUrl, customDomain, search, rebuildWait, restored } = this.#settings
    const all = [hashes, serviceEnvironmentOf(this.#settings), Object.keys(baseUrls), baseUrl, customDomain, search, rebuildWait, restored]
    return createHash('sha256').update(JSON.stringify(all)).digest('hex')
  }

  /** Creates the signing keys before any client can request a token, and removes them with the stage. */
  #signingKeys(aws: AwsResources, baseUrls: Record<string, string>): { readonly tender: IFunction; readonly signingKeys: CustomResource } {
    const { function: tender } = this.#function('tend-keys', aws, { environment: baseUrls })
    scheduleSweeps(this, tender, KEY_SWEEP)
    const signingKeys = new CustomResource(this, 'SigningKeys', {
      resourceType: 'Custom::FhirSigningKeys',
      serviceToken: tender.functionArn,
      serviceTimeout: Duration.minutes(2),
    })
    return { tender, signingKeys }
  }

  /** Creates the function that starts scheduled exports. It can start them only when requests can, after the migration. */
  #exportStarter(aws: AwsResources, baseUrls: Record<string, string>, before: CustomResource): IFunction {
    const { function: starter } = this.#function('export-schedule', aws, { environment: baseUrls })
    starter.node.addDependency(before)
    return starter
  }

  #httpFunctions(
    aws: AwsResources,
    baseUrls: Record<string, string>,
    migration: CustomResource,
    keys: CustomResource | undefined,
  ): HttpFunctions {
    const signingKeys = httpFunctionsOf(this.#settings).map((name): [HttpFunction, IFunction] => {
      const { function: each } = this.#function(name, aws, { environment: baseUrls })
      if (keys !== undefined) each.node.addDependency(keys)
      // If the migration revokes tokens, `token` is updated first. Otherwise it could still issue tokens from the previous table.
      if (name === 'token' && this.#settings.restored?.state !== undefined) migration.node.addDependency(each)
      else each.node.addDependency(migration)
      return [name, each as IFunction]
    })
    return Object.fromEntries(signingKeys) as HttpFunctions
  }

  #outputs(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) new CfnOutput(this, name, { value })
  }
}
