-- What people keep apart: a row for each pair of classes in which whoever decided knew both sides, as a decision about a link is, so
-- that taking it back changes nothing for readers who do not see both. It takes the place of `rejected_merges`, which had one row
-- for all classes. The ids list a decision while its sides are there; the hashes outlive both and say nothing about them.
CREATE TABLE merge_rejections (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    one         text NOT NULL,
    other       text NOT NULL,
    one_class   integer NOT NULL,
    other_class integer NOT NULL,
    one_id      uuid,
    other_id    uuid,
    rejected_by text NOT NULL DEFAULT '',
    rejected_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, one, other, one_class, other_class)
);
CREATE INDEX merge_rejections_latest ON merge_rejections (project_id, rejected_at DESC);
INSERT INTO merge_rejections (project_id, one, other, one_class, other_class, rejected_at)
SELECT project_id, one, other, one_class, other_class, max(rejected_at)
FROM rejected_merges
CROSS JOIN LATERAL unnest(one_classes) AS near (one_class)
CROSS JOIN LATERAL unnest(other_classes) AS far (other_class)
GROUP BY 1, 2, 3, 4, 5;
DROP TABLE rejected_merges;
