-- What a person hides is hidden in the access classes of which the person has all tags: nobody writes for readers of other
-- tags. It was hidden in all classes that shared a tag with the person; what was hidden stays so.
ALTER TABLE entities ADD COLUMN hidden_in integer[];
ALTER TABLE relations ADD COLUMN hidden_in integer[];
UPDATE entities AS entity
SET hidden_in = ARRAY(SELECT class.class_id FROM access_classes AS class
                      WHERE class.project_id = entity.project_id AND class.tags && entity.hidden_for ORDER BY 1), hidden_for = NULL
WHERE hidden_for IS NOT NULL;
UPDATE relations AS relation
SET hidden_in = ARRAY(SELECT class.class_id FROM access_classes AS class
                      WHERE class.project_id = relation.project_id AND class.tags && relation.hidden_for ORDER BY 1), hidden_for = NULL
WHERE hidden_for IS NOT NULL;
CREATE INDEX entities_hidden_in ON entities (project_id) WHERE hidden_in IS NOT NULL;
CREATE INDEX relations_hidden_in ON relations (project_id) WHERE hidden_in IS NOT NULL;
