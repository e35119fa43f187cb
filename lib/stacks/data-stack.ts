/**
 * Data stack: tables, bucket, search domain, and the key that encrypts them. Deleting the stack retains all of them, unless its creation
 * failed.
 */
import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Port } from 'aws-cdk-lib/aws-ec2'
import { AccountPrincipal, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { Domain } from 'aws-cdk-lib/aws-opensearchservice'
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { EXPORT_LOGS } from '../edge/export-files.ts'
import { DISCLOSURES_PREFIX } from '../permissions/audit-grants.ts'
import { suppressDataStackFindings } from '../permissions/nag-suppressions.ts'
import { createResourceTable, createStateTable } from '../resource-table.ts'
import { vaultAccountOf } from '../settings/backup-settings.ts'
import { isArchiving, type Settings, serviceEnvironmentOf } from '../settings/settings.ts'
import { createAuditBucket } from './audit-archive.ts'
import { FAILED_RECORDS_PREFIX } from './failed-records.ts'
import { Network } from './network.ts'
import { createSearchDomain } from './search-domain.ts'

/** Period that DynamoDB's point-in-time recovery covers. Overwritten objects are retained for the same period. */
const RECOVERY = Duration.days(35)

const USE_KEY = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo']

const SAFE = {
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
  versioned: true,
  removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
} as const

export class DataStack extends Stack {
  readonly key: Key
  readonly resourceTable: TableV2
  readonly stateTable: TableV2
  readonly bucket: IBucket
  readonly logsBucket: IBucket
  /** Archive of audit records; absent if the stage has none. */
  readonly auditBucket?: IBucket
  /** Search domain; absent if the stage uses another cluster. */
  readonly domain?: Domain
  readonly network?: Network
  readonly #zones: readonly string[] | undefined

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      env: { region: settings.region, ...accountOf(settings) },
      terminationProtection: true,
      description: 'FHIR server: what lasts',
    })
    const { auditArchiveYears, capacity, search, stage, vpc } = settings
    this.#zones = vpc?.availabilityZones
    this.key = this.#key(settings)
    this.resourceTable = createResourceTable(this, this.key, capacity)
    this.stateTable = createStateTable(this, this.key, capacity, isArchiving(settings))
    this.logsBucket = this.#logsBucket(settings)
    this.bucket = this.#dataBucket(settings)
    if (auditArchiveYears !== undefined)
      this.auditBucket = createAuditBucket(this, { years: auditArchiveYears, key: this.key, logs: this.logsBucket, common: SAFE })
    if (vpc !== undefined) {
      const network = new Network(this, 'Network', vpc)
      network.logTo(this.logsBucket)
      this.network = network
    }
    if ('kind' in search) {
      const network = this.network === undefined ? {} : { vpc: this.network.vpc }
      this.domain = createSearchDomain(this, { size: search.size, stage, key: this.key, ...network })
      if (this.network !== undefined) this.domain.connections.allowFrom(this.network.functions, Port.tcp(443))
    }
    this.#createTablesLast()
    this.#exportNames()
    const { resources = this.resourceTable.tableName, state = this.stateTable.tableName } = settings.restored ?? {}
    new CfnOutput(this, 'ResourceTableName', { value: resources })
    new CfnOutput(this, 'StateTableName', { value: state })
    new CfnOutput(this, 'BucketName', { value: this.bucket.bucketName })
    suppressDataStackFindings(this, settings)
  }

  /** Returns the zones of the setting `vpc`. The CDK would look up those of an account that the settings name, which requires credentials. */
  override get availabilityZones(): string[] {
    return this.#zones === undefined ? super.availabilityZones : [...this.#zones]
  }

  /** Creates the tables after everything that may fail. Their deletion protection would block the rollback of a failed creation. */
  #createTablesLast(): void {
    const others = [this.domain, this.bucket, this.auditBucket, this.network?.vpc].filter((each) => each !== undefined)
    for (const table of [this.resourceTable, this.stateTable]) table.node.addDependency(...others)
  }

  /**
   * Exports the tables' names even if restored tables replace them, and the domain's name, which an earlier version of the service stack
   * imports. This stack is updated first, and CloudFormation refuses to remove an export that the service stack still imports.
   */
  #exportNames(): void {
    if (this.domain !== undefined) this.exportValue(this.domain.domainName)
    for (const table of [this.resourceTable, this.stateTable])
      for (const value of [table.tableArn, table.tableName]) this.exportValue(value)
    this.exportValue(this.resourceTable.tableStreamArn)
  }

  #key({ backup }: Settings): Key {
    const key = new Key(this, 'Key', {
      description: 'FHIR server: tables, bucket, search domain, logs, alarms',
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    })
    const { account, partition, region } = this
    const logs = { 'kms:EncryptionContext:aws:logs:arn': `arn:${partition}:logs:${region}:${account}:*` }
    key.addToResourcePolicy(statement(`logs.${region}.amazonaws.com`, USE_KEY, { ArnLike: logs }))
    key.addToResourcePolicy(
      statement('cloudwatch.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey'], { StringEquals: { 'aws:SourceAccount': account } }),
    )
    // The bucket policy names the distribution. The key policy cannot, because that would create a circular dependency.
    const distributions = { 'aws:SourceArn': `arn:${partition}:cloudfront::${account}:distribution/*` }
    key.addToResourcePolicy(statement('cloudfront.amazonaws.com', ['kms:Decrypt'], { ArnLike: distributions }))
    if (backup !== undefined) for (const each of this.#copyStatements(vaultAccountOf(backup))) key.addToResourcePolicy(each)
    return key
  }

  /**
   * Permits AWS Backup in the account of the copies to read what the key encrypts. The principal is the account, because a policy that names
   * a missing role is rejected.
   * https://docs.aws.amazon.com/aws-backup/latest/devguide/create-cross-account-backup.html
   */
  #copyStatements(account: string): readonly PolicyStatement[] {
    const isBackup = {
      ArnLike: { 'aws:PrincipalArn': `arn:${this.partition}:iam::${account}:role/aws-service-role/backup.amazonaws.com/*` },
    }
    const use = [...USE_KEY, 'kms:GenerateDataKeyWithoutPlaintext']
    const grants = ['kms:CreateGrant', 'kms:ListGrants', 'kms:RevokeGrant']
    const [principals, resources] = [[new AccountPrincipal(account)], ['*']]
    return [
      new PolicyStatement({ principals, resources, actions: use, conditions: isBackup }),
      new PolicyStatement({
        ...{ principals, resources, actions: grants },
        conditions: { ...isBackup, Bool: { 'kms:GrantIsForAWSResource': 'true' } },
      }),
    ]
  }

  /** Creates the bucket for access logs. S3 cannot write them with a customer managed key. */
  #logsBucket({ logRetentionDays }: Settings): IBucket {
    const bucket = new Bucket(this, 'LogsBucket', {
      ...SAFE,
      encryption: BucketEncryption.S3_MANAGED,
      lifecycleRules: [{ expiration: Duration.days(logRetentionDays), noncurrentVersionExpiration: Duration.days(1) }],
    })
    // The bucket for export files is created later, so the policy cannot name it.
    bucket.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('logging.s3.amazonaws.com')],
        actions: ['s3:PutObject'],
        resources: [bucket.arnForObjects(`${EXPORT_LOGS}*`)],
        conditions: { StringEquals: { 'aws:SourceAccount': this.account } },
      }),
    )
    // The types of the CDK's classes do not match its interfaces exactly.
    return bucket as IBucket
  }

  /**
   * Creates the bucket for data. `bodies/`: bodies too large for an item; those of an earlier server version are in `overflow/`.
   * `queries/`, `tokens/`: data that search links refer to. `packages/`: definitions that operators added. `disclosures/`: records of
   * disclosures. `aws/`: records that no function could process. Access logs show the keys of its objects, so no key names a resource.
   */
  #dataBucket(settings: Settings): IBucket {
    const { disclosureYears } = readConfig(serviceEnvironmentOf(settings))
    return new Bucket(this, 'DataBucket', {
      ...SAFE,
      encryption: BucketEncryption.KMS,
      encryptionKey: this.key,
      bucketKeyEnabled: true,
      serverAccessLogsBucket: this.logsBucket,
      serverAccessLogsPrefix: 'data-bucket/',
      lifecycleRules: [
        { prefix: 'queries/', expiration: Duration.days(3), noncurrentVersionExpiration: Duration.days(1) },
        // Records that no operator has redriven may expire: the table holds all of their resources.
        { prefix: FAILED_RECORDS_PREFIX, expiration: Duration.days(90), noncurrentVersionExpiration: Duration.days(1) },
        { prefix: DISCLOSURES_PREFIX, expiration: Duration.days(366 * disclosureYears) },
        { prefix: 'tokens/', expiration: Duration.days(2), noncurrentVersionExpiration: Duration.days(1) },
        {
          noncurrentVersionExpiration: RECOVERY,
          expiredObjectDeleteMarker: true,
          abortIncompleteMultipartUploadAfter: Duration.days(2),
        },
      ],
    }) as IBucket
  }
}

/** Account of AWS engines on one machine. A stack for them cannot be deployed to any other account. */
export const LOCAL_ACCOUNT = '000000000000'

/** Returns the account of the stacks. Empty: the account of the credentials that deploy. */
export function accountOf({ account, access }: Settings): { account?: string } {
  const chosen = access === 'open' ? LOCAL_ACCOUNT : account
  return chosen === undefined ? {} : { account: chosen }
}

const statement = (service: string, actions: string[], conditions: Record<string, Record<string, string>>): PolicyStatement =>
  new PolicyStatement({ principals: [new ServicePrincipal(service)], actions, resources: ['*'], conditions })
