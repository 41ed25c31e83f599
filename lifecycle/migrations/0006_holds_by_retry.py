from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0005_exact_keys_for_mysql")]

    operations = [
        migrations.RemoveIndex(model_name="triggerhold", name="lifecycle_hold_due"),
        migrations.AddIndex(
            model_name="triggerhold",
            index=models.Index(fields=["retry_at", "id"], name="lifecycle_hold_retry"),
        ),
    ]
