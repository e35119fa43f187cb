/**
 * Daily backups of the tables and of the bucket for data, with a copy in a vault of another account. DynamoDB's recovery and the versions of
 * the bucket stay within the account. https://docs.aws.amazon.com/aws-backup/latest/devguide/create-cross-account-backup.html
 */
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from 'aws-cdk-lib/aws-backup'
import { Schedule } from 'aws-cdk-lib/aws-events'
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import type { TableConstruct } from '../permissions/permissions.ts'
import { type BackupSettings, OWN_BACKUP_DAYS } from '../settings/backup-settings.ts'

/** Data to back up. `tables`: the tables in use, which may be restored ones. `key`: encrypts the backups within the account. */
export type BackupSources = { readonly key: IKey; readonly bucket: IBucket; readonly tables: readonly TableConstruct[] }

const DAILY = Schedule.cron({ hour: '3', minute: '0' })
/**
 * Policies that AWS Backup requires for its role. Only the first has a path.
 * https://docs.aws.amazon.com/aws-backup/latest/devguide/iam-service-roles.html
 */
const POLICIES = ['service-role/AWSBackupServiceRolePolicyForBackup', 'AWSBackupServiceRolePolicyForS3Backup']

export class DataBackups extends Construct {
  constructor(scope: Construct, id: string, { vault, days }: BackupSettings, { key, bucket, tables }: BackupSources) {
    super(scope, id)
    // A vault with backups cannot be deleted.
    const ownVault = new BackupVault(this, 'Vault', { encryptionKey: key, removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE })
    const destinationBackupVault = BackupVault.fromBackupVaultArn(this, 'Copies', vault)
    const plan = new BackupPlan(this, 'Plan', {
      backupVault: ownVault,
      backupPlanRules: [
        new BackupPlanRule({
          ruleName: 'Daily',
          scheduleExpression: DAILY,
          deleteAfter: Duration.days(OWN_BACKUP_DAYS),
          copyActions: [{ destinationBackupVault, deleteAfter: Duration.days(days) }],
        }),
      ],
    })
    plan.addSelection('Data', {
      resources: [...tables.map(({ tableArn }) => tableArn), bucket.bucketArn].map((arn) => BackupResource.fromArn(arn)),
      role: new Role(this, 'Role', {
        assumedBy: new ServicePrincipal('backup.amazonaws.com'),
        managedPolicies: POLICIES.map((name) => ManagedPolicy.fromAwsManagedPolicyName(name)),
      }),
      disableDefaultBackupPolicy: true,
    })
  }
}
